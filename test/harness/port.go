package harness

import (
	"fmt"
	"net"
	"os"
	"sync/atomic"
)

// ports counts the ports that this process gave away.
var ports atomic.Int64

// FreePort returns a port of 127.0.0.1 that nobody uses, and that it returns once. It is below those that
// systems give to connections and to listeners on port 0: a server that was stopped finds it free again.
func FreePort() int {
	for {
		port := 10_000 + (os.Getpid()*50+int(ports.Add(1)))%20_000
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			_ = l.Close()
			return port
		}
	}
}
