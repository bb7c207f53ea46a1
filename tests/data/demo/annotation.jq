# The VIF of vif.json for one port: $id, $tap, $mac, $ip, $ip6, $active.
def data: .["versioned_object.data"];
def address($subnet; $value):
  (data.network | data.subnets | data.objects[$subnet] | data.ips | data.objects[0] | data.address) = $value;
(data.id, (data.port_profile | data.interface_id)) = $id
| data.vif_name = $tap
| data.address = $mac
| data.active = $active
| address(0; $ip)
| address(1; $ip6)
