// libcni-client add|check|del CONFLIST CONTAINER_ID NETNS [KEY=VALUE]...
//
// One operation of libcni, the library in containerd, CRI-O and podman. Plugins are found in CNI_PATH; the arguments
// become CNI_ARGS, and CAPABILITIES, a JSON object, what plugins with such capabilities get as runtimeConfig. Prints the
// result of an add.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/containernetworking/cni/libcni"
)

func run(operation, file, container, netns string, arguments []string) error {
	list, err := libcni.ConfListFromFile(file)
	if err != nil {
		return err
	}
	runtime := &libcni.RuntimeConf{ContainerID: container, NetNS: netns, IfName: "eth0"}
	for _, argument := range arguments {
		key, value, _ := strings.Cut(argument, "=")
		runtime.Args = append(runtime.Args, [2]string{key, value})
	}
	if capabilities := os.Getenv("CAPABILITIES"); capabilities != "" {
		if err := json.Unmarshal([]byte(capabilities), &runtime.CapabilityArgs); err != nil {
			return err
		}
	}
	cni := libcni.NewCNIConfig(filepath.SplitList(os.Getenv("CNI_PATH")), nil)
	switch operation {
	case "add":
		result, err := cni.AddNetworkList(context.Background(), list, runtime)
		if err != nil {
			return err
		}
		return result.Print()
	case "check":
		return cni.CheckNetworkList(context.Background(), list, runtime)
	case "del":
		return cni.DelNetworkList(context.Background(), list, runtime)
	}
	return fmt.Errorf("no operation %q", operation)
}

func main() {
	if err := run(os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[5:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
