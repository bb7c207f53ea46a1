"""The list of an image's Debian packages, as SPDX 2.3 (JSON). What the programs have in them is cmake/sbom's."""
import hashlib
import io
import json
import re
import tarfile
from datetime import datetime, timezone

STATUS = "var/lib/dpkg/status"


def packages_of(root):
    """[(source package, its version)] of a root, a tar."""
    with tarfile.open(fileobj=io.BytesIO(root)) as archive:
        (status,) = [each for each in archive if each.name.removeprefix("./") == STATUS]
        paragraphs = archive.extractfile(status).read().decode().split("\n\n")
    found = set()
    for text in paragraphs:
        fields = dict(re.findall(r"^(Package|Source|Version): (.*)$", text, re.MULTILINE))
        if fields:
            # Its version only stands there if it is another one.
            name, own = re.fullmatch(r"(\S+)(?: \((.*)\))?", fields.get("Source", fields["Package"])).groups()
            found.add((name, own or fields["Version"]))
    return sorted(found)


def spdx(name, version, packages, epoch):
    listed = [{"name": source, "SPDXID": _element(source, number), "versionInfo": of, "supplier": "Organization: Debian",
               "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": "NOASSERTION",
               "licenseDeclared": "NOASSERTION", "copyrightText": "NOASSERTION",
               "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                                 "referenceLocator": f"pkg:deb/debian/{source}@{of}?arch=source"}]}
              for number, (source, of) in enumerate(packages)]
    content = hashlib.sha256(json.dumps(listed).encode()).hexdigest()
    return json.dumps({
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"{name}-{version}",
        "documentNamespace": f"https://spdx.org/spdxdocs/{name}-{version}-{content}",
        "creationInfo": {"created": datetime.fromtimestamp(epoch, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
                         "creators": ["Organization: kuryr-cni maintainers"]},
        "packages": listed,
        "relationships": [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": each["SPDXID"]}
                          for each in listed]}, indent=1) + "\n"


def _element(name, number):
    return f"SPDXRef-{number}-" + re.sub(r"[^\w.-]", "-", name)
