/** A name server in a process of its own: `bare` gives every question its own bytes back, `cluster` answers from a cluster of 1,000 services. */
import { createSocket } from 'node:dgram'
import type { V1Namespace } from '#api/core/v1/types.gen.ts'
import { systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import { listenHttp } from '#base/http-server.ts'
import { silentLogger } from '#base/log.ts'
import { Metrics } from '#base/metrics.ts'
import { systemRandom } from '#base/random.ts'
import { nodeSockets } from '#base/sockets.ts'
import { defaultCorefile } from '#dns/corefile/default-corefile.ts'
import { dnsMetrics } from '#dns/dns-metrics.ts'
import { DnsServer } from '#dns/run-dns.ts'
import { ClusterNames } from '#dns/zone/cluster-names.ts'

export const serviceCount = 1000

if (process.argv[2] === 'bare') {
  const socket = createSocket({ type: 'udp4', recvBufferSize: 1 << 20, lookup: (address, _options, done) => done(null, address, 4) })
  socket.on('message', (message, from) => {
    message[2] = (message[2] as number) | 0x80
    socket.send(message, from.port, from.address)
  })
  socket.bind(0, '127.0.0.1', () => process.send?.({ port: socket.address().port }))
} else if (process.argv[2] === 'cluster') {
  const names = new ClusterNames(() => Date.now())
  names.setNamespace({ metadata: { name: 'shop' } } as V1Namespace)
  for (let index = 0; index < serviceCount; index++) {
    const clusterIP = `10.96.${index >> 8}.${index & 255}`
    names.setService({
      metadata: { namespace: 'shop', name: `web-${index}` },
      spec: { clusterIP, ports: [{ name: 'http', port: 80, protocol: 'TCP' }] },
    })
  }
  const metrics = new Metrics()
  const server = new DnsServer({
    ...{ clock: systemClock, random: systemRandom, files: nodeFiles, sockets: nodeSockets, logger: silentLogger, metrics, listenHttp },
    ...{ dnsMetrics: dnsMetrics(metrics), environment: {}, ownAddresses: ['127.0.0.1'], listenAt: [{ host: '127.0.0.1', port: 0 }] },
    cluster: { names, hasSynced: () => true, synced: Promise.resolve(), followPods: () => {}, stop: () => {} },
  })
  await server.configure(
    defaultCorefile({ clusterDomain: 'cluster.local', upstreams: ['127.0.0.1'], stubDomains: {}, servesHealth: false }),
  )
  process.send?.({ port: server.addresses[0]?.port })
}

process.on('message', () => process.send?.({ cpu: process.cpuUsage() }))
process.on('disconnect', () => process.exit())
