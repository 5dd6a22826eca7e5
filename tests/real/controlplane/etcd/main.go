// An etcd with one member: etcd --data-dir DIR --listen-client-urls URL --advertise-client-urls URL
// --listen-peer-urls URL. The flags are those of etcd that are used here, and as etcd does it insists on
// those URLs, so that a packaged etcd will do in its place.
package main

import (
	"flag"
	"log"
	"net/url"
	"os"
	"os/signal"
	"syscall"

	"go.etcd.io/etcd/server/v3/embed"
)

func main() {
	config := embed.NewConfig()
	flag.StringVar(&config.Dir, "data-dir", "", "where to keep everything")
	clients := flag.String("listen-client-urls", "", "where to listen for clients")
	advertised := flag.String("advertise-client-urls", "", "where clients are told to go")
	peers := flag.String("listen-peer-urls", "", "where to listen for other members")
	flag.BoolVar(&config.UnsafeNoFsync, "unsafe-no-fsync", false, "do not wait for the disk")
	flag.Parse()

	config.LogLevel = "warn"
	config.ListenClientUrls, config.AdvertiseClientUrls = urls(*clients), urls(*advertised)
	config.ListenPeerUrls, config.AdvertisePeerUrls = urls(*peers), urls(*peers)
	config.InitialCluster = config.InitialClusterFromName(config.Name)

	server, err := embed.StartEtcd(config)
	if err != nil {
		log.Fatal(err)
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGINT, syscall.SIGTERM)
	select {
	case <-stop:
		server.Close()
	case err := <-server.Err():
		log.Fatal(err)
	}
}

func urls(text string) []url.URL {
	parsed, err := url.Parse(text)
	if err != nil || parsed.Host == "" {
		log.Fatalf("%q is no URL", text)
	}
	return []url.URL{*parsed}
}
