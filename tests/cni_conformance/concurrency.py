"""CON: calls at the same time."""
from cni_conformance.case import case
from cni_conformance.delegate import add_that_waits
from cni_conformance.needs import need_second_interface
from harness.expectation import expect
from harness.result_form import addresses

CONTAINERS = 20


def together(node, attachments, command, confs):
    running = [made.start(command, conf) for made, conf in zip(attachments, confs)]
    return [node.finish_call(process, command) for process in running]


@case("CON-01", "MUST", "1.0.0")
def different_containers(node):
    """calls for different containers at once: each gets its own, each leaves nothing"""
    before = node.remains()
    made = [node.attachment() for _ in range(CONTAINERS)]
    for each, answer in zip(made, together(node, made, "ADD", [each.conf() for each in made])):
        each.result = answer.result()
        expect(each.present(), "no interface")
    given = [address for each in made for address in addresses(each.result)]
    expect(len(given) == len(set(given)), f"an address was given twice: {sorted(given)}")
    for answer in together(node, made, "DEL", [each.with_result() for each in made]):
        answer.silent()
    for each in made:
        each.expect_gone()
    node.expect_only(before)


@case("CON-03", "REF", "0.4.0")
def same_container(node):
    """calls for the same container at once: two interfaces, both right"""
    need_second_interface(node)
    before = node.remains()
    for _ in range(5):
        first = node.attachment()
        both = [first, node.attachment(ifname="net1", beside=first)]
        for each, answer in zip(both, together(node, both, "ADD", [each.conf() for each in both])):
            each.result = answer.result()
        for each in both:
            expect(each.present(), f"no {each.ifname}")
            expect(set(addresses(each.result)) == each.addresses(), f"addresses of {each.ifname}")
        for answer in together(node, both, "DEL", [each.with_result() for each in both]):
            answer.silent()
        node.expect_only(before)


@case("CON-05", "HARD")
def deleted_while_added(node):
    """a DEL that meets its running ADD: the ADD ends, nothing is left"""
    before = node.remains()
    made, process, go_on = add_that_waits(node)
    made.call("DEL").silent()
    go_on()
    node.finish_call(process, "ADD").error()
    made.expect_gone("after DEL during ADD")
    node.expect_only(before, "after DEL during ADD")
