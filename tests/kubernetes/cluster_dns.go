// cluster-dns answers for a cluster's Services and pods by the Kubernetes DNS specification 1.1.0, as CoreDNS does, which
// Debian lacks. Its informers are client-go's and its messages miekg/dns', both of Kubernetes' vendor tree.
package main

import (
	"log"
	"net"
	"strings"

	"github.com/miekg/dns"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

const (
	zone    = "cluster.local."
	seconds = 5
	byIP    = "ip"
)

type server struct {
	services, endpoints cache.Indexer
}

func main() {
	config, err := rest.InClusterConfig()
	if err != nil {
		log.Fatal(err)
	}
	factory := informers.NewSharedInformerFactory(kubernetes.NewForConfigOrDie(config), 0)
	services := factory.Core().V1().Services().Informer()
	endpoints := factory.Core().V1().Endpoints().Informer()
	services.AddIndexers(cache.Indexers{byIP: func(object interface{}) ([]string, error) {
		return clusterIPs(object.(*v1.Service)), nil
	}})
	endpoints.AddIndexers(cache.Indexers{byIP: func(object interface{}) ([]string, error) {
		var ips []string
		eachAddress(object.(*v1.Endpoints), func(_ v1.EndpointSubset, address v1.EndpointAddress) {
			ips = append(ips, address.IP)
		})
		return ips, nil
	}})
	stop := make(chan struct{})
	factory.Start(stop)
	factory.WaitForCacheSync(stop)
	dns.Handle(".", &server{services.GetIndexer(), endpoints.GetIndexer()})
	go func() { log.Fatal((&dns.Server{Addr: ":53", Net: "tcp"}).ListenAndServe()) }()
	log.Fatal((&dns.Server{Addr: ":53", Net: "udp"}).ListenAndServe())
}

func (s *server) ServeDNS(writer dns.ResponseWriter, query *dns.Msg) {
	message := new(dns.Msg)
	message.SetReply(query)
	message.Authoritative, message.RecursionAvailable = true, true
	for _, question := range query.Question {
		answer := answer{message, question}
		if !s.answer(answer, strings.ToLower(question.Name)) {
			message.Rcode = dns.RcodeNameError
		}
		if len(message.Answer) == 0 {
			message.Ns = []dns.RR{&dns.SOA{Hdr: header(zone, dns.TypeSOA), Ns: "ns.dns." + zone,
				Mbox: "hostmaster." + zone, Serial: 1, Refresh: 7200, Retry: 1800, Expire: 86400, Minttl: seconds}}
		}
	}
	writer.WriteMsg(message)
}

// answer reports whether the name exists.
func (s *server) answer(a answer, name string) bool {
	if strings.HasSuffix(name, ".arpa.") {
		return s.reverse(a, name)
	}
	if !dns.IsSubDomain(zone, name) {
		return false
	}
	labels := dns.SplitDomainName(name)
	labels = labels[:len(labels)-2]
	count := len(labels)
	switch {
	case count == 1 && labels[0] == "dns-version":
		a.add(&dns.TXT{Hdr: header(a.question.Name, dns.TypeTXT), Txt: []string{"1.1.0"}})
	case count < 3:
		return count == 0 || labels[count-1] == "svc" || labels[count-1] == "pod"
	case labels[count-1] == "pod":
		return count == 3 && a.addIPs(podIP(labels[0]))
	case labels[count-1] == "svc":
		return s.service(a, labels[:count-3], labels[count-3], labels[count-2])
	default:
		return false
	}
	return true
}

// podIP is the address that the first label of a pod's name tells.
func podIP(label string) string {
	if ip := strings.ReplaceAll(label, "-", "."); net.ParseIP(ip) != nil {
		return ip
	}
	return strings.ReplaceAll(label, "-", ":")
}

// service answers for what is below the name of a Service: nothing, an endpoint, or a port and its protocol.
func (s *server) service(a answer, below []string, name, namespace string) bool {
	key := namespace + "/" + name
	object, found, _ := s.services.GetByKey(key)
	if !found {
		return false
	}
	service := object.(*v1.Service)
	if service.Spec.Type == v1.ServiceTypeExternalName {
		a.add(&dns.CNAME{Hdr: header(a.question.Name, dns.TypeCNAME), Target: dns.Fqdn(service.Spec.ExternalName)})
		return len(below) == 0
	}
	base := name + "." + namespace + ".svc." + zone
	if service.Spec.ClusterIP != v1.ClusterIPNone {
		switch len(below) {
		case 0:
			return a.addIPs(clusterIPs(service)...)
		case 2:
			return a.addPorts(below, service.Spec.Ports, base, clusterIPs(service))
		}
		return false
	}
	object, found, _ = s.endpoints.GetByKey(key)
	return found && a.addEndpoints(below, object.(*v1.Endpoints), base)
}

func (s *server) reverse(a answer, name string) bool {
	ip := addressOf(name)
	point := func(target string) {
		a.add(&dns.PTR{Hdr: header(a.question.Name, dns.TypePTR), Ptr: target + ".svc." + zone})
	}
	services, _ := s.services.ByIndex(byIP, ip)
	for _, object := range services {
		service := object.(*v1.Service)
		point(service.Name + "." + service.Namespace)
	}
	endpoints, _ := s.endpoints.ByIndex(byIP, ip)
	for _, object := range endpoints {
		found := object.(*v1.Endpoints)
		eachAddress(found, func(_ v1.EndpointSubset, address v1.EndpointAddress) {
			if address.IP == ip && len(services) == 0 {
				point(hostOf(address) + "." + found.Name + "." + found.Namespace)
			}
		})
	}
	return len(a.message.Answer) > 0
}

// addressOf is the address that a name below in-addr.arpa or ip6.arpa tells.
func addressOf(name string) string {
	labels := dns.SplitDomainName(name)
	var text strings.Builder
	for i := len(labels) - 3; i >= 0; i-- {
		text.WriteString(labels[i])
		switch {
		case i > 0 && len(labels) == 6:
			text.WriteByte('.')
		case i > 0 && i%4 == 0:
			text.WriteByte(':')
		}
	}
	return net.ParseIP(text.String()).String()
}

// answer is an answer to one question, as far as it goes.
type answer struct {
	message  *dns.Msg
	question dns.Question
}

func (a answer) add(record dns.RR) { a.message.Answer = append(a.message.Answer, record) }

// addIPs adds the addresses of the family that is asked for, and reports whether there are any of either.
func (a answer) addIPs(ips ...string) bool {
	for _, ip := range ips {
		if record := ipRecord(a.question.Name, ip); record != nil && record.Header().Rrtype == a.question.Qtype {
			a.add(record)
		}
	}
	return len(ips) > 0
}

func (a answer) addPorts(below []string, ports []v1.ServicePort, target string, ips []string) bool {
	known := false
	for _, port := range ports {
		known = a.addPort(below, port.Name, port.Protocol, port.Port, target, ips) || known
	}
	return known
}

// addPort adds an SRV record where the labels below name this port.
func (a answer) addPort(below []string, name string, protocol v1.Protocol, port int32, target string, ips []string) bool {
	if below[0] != "_"+name || below[1] != "_"+strings.ToLower(string(protocol)) {
		return false
	}
	if a.question.Qtype == dns.TypeSRV {
		a.add(&dns.SRV{Hdr: header(a.question.Name, dns.TypeSRV), Weight: 100, Port: uint16(port), Target: target})
		for _, ip := range ips {
			a.message.Extra = append(a.message.Extra, ipRecord(target, ip))
		}
	}
	return true
}

// addEndpoints answers for what is below the name of a headless Service.
func (a answer) addEndpoints(below []string, endpoints *v1.Endpoints, base string) bool {
	known := false
	eachAddress(endpoints, func(subset v1.EndpointSubset, address v1.EndpointAddress) {
		switch {
		case len(below) == 0, len(below) == 1 && below[0] == hostOf(address):
			known = a.addIPs(address.IP) || known
		case len(below) == 2:
			for _, port := range subset.Ports {
				target := hostOf(address) + "." + base
				known = a.addPort(below, port.Name, port.Protocol, port.Port, target, []string{address.IP}) || known
			}
		}
	})
	return known
}

func eachAddress(endpoints *v1.Endpoints, do func(v1.EndpointSubset, v1.EndpointAddress)) {
	for _, subset := range endpoints.Subsets {
		for _, address := range subset.Addresses {
			do(subset, address)
		}
	}
}

// hostOf is an endpoint's label below the name of its Service.
func hostOf(address v1.EndpointAddress) string {
	if address.Hostname != "" {
		return address.Hostname
	}
	return strings.NewReplacer(".", "-", ":", "-").Replace(address.IP)
}

// clusterIPs are a Service's addresses; older API servers know one.
func clusterIPs(service *v1.Service) []string {
	if len(service.Spec.ClusterIPs) > 0 {
		return service.Spec.ClusterIPs
	}
	return []string{service.Spec.ClusterIP}
}

func header(name string, kind uint16) dns.RR_Header {
	return dns.RR_Header{Name: name, Rrtype: kind, Class: dns.ClassINET, Ttl: seconds}
}

// ipRecord is the A or AAAA record of an address; nil where the text is none.
func ipRecord(name, text string) dns.RR {
	ip := net.ParseIP(text)
	if v4 := ip.To4(); v4 != nil {
		return &dns.A{Hdr: header(name, dns.TypeA), A: v4}
	} else if ip != nil {
		return &dns.AAAA{Hdr: header(name, dns.TypeAAAA), AAAA: ip}
	}
	return nil
}
