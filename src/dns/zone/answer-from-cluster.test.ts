/** The Kubernetes DNS specification as a table, and where it is silent, what CoreDNS answers. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { V1Namespace, V1Pod, V1Service } from '#api/core/v1/types.gen.ts'
import type { V1EndpointSlice } from '#api/discovery/v1/types.gen.ts'
import { answerFromCluster, type ClusterZone, startOfAuthority } from '#dns/zone/answer-from-cluster.ts'
import { ClusterNames } from '#dns/zone/cluster-names.ts'
import { addressOfReverseName } from '#dns/zone/reverse-name.ts'
import type { DnsRecord } from '#wire/dns/dns-message.ts'
import { recordTypeNumber } from '#wire/dns/record-type.ts'

const zone: ClusterZone = {
  ...{ zones: ['cluster.local.', 'in-addr.arpa.', 'ip6.arpa.'], ttlSeconds: 30, pods: 'verified', endpointPodNames: false },
  ...{ ignoresEmptyServices: false, namespaces: [], ownAddresses: ['172.30.0.1'] },
}

const service = (name: string, spec: V1Service['spec']): V1Service => ({ metadata: { namespace: 'shop', name }, ...(spec && { spec }) })
const slice = (of: string, name: string, parts: Partial<V1EndpointSlice>): V1EndpointSlice => ({
  metadata: { namespace: 'shop', name, labels: { 'kubernetes.io/service-name': of } },
  ...{ addressType: 'IPv4', endpoints: [], ...parts },
})
const http = { name: 'http', port: 80, protocol: 'TCP' }

function exampleNames(): ClusterNames {
  const names = new ClusterNames(() => 1_700_000_000_000)
  for (const name of ['shop', 'kube-system', 'empty']) names.setNamespace({ metadata: { name } } as V1Namespace)
  const both = { clusterIP: '10.96.1.1', clusterIPs: ['10.96.1.1', 'fd00:96::1'] }
  names.setService(
    service('web', {
      ...both,
      ports: [http, { name: 'metrics', port: 9090, protocol: 'TCP' }, { name: 'dns', port: 53, protocol: 'UDP' }],
    }),
  )
  names.setService(service('db', { clusterIP: 'None', ports: [http] }))
  names.setService(service('bare', { clusterIP: 'None' }))
  names.setService(service('nobody', { clusterIP: 'None', ports: [http] }))
  names.setService(service('idle', { clusterIP: '10.96.1.9', ports: [http] }))
  names.setService(service('outside', { type: 'ExternalName', externalName: 'example.com' }))
  names.setService(service('alias', { type: 'ExternalName', externalName: 'web.shop.svc.cluster.local' }))
  names.setService(service('ring-a', { type: 'ExternalName', externalName: 'ring-b.shop.svc.cluster.local' }))
  names.setService(service('ring-b', { type: 'ExternalName', externalName: 'ring-a.shop.svc.cluster.local' }))
  names.setService(service('no-name', { type: 'ExternalName', externalName: '10.1.2.3' }))
  const pod = (name: string) => ({ kind: 'Pod', name, namespace: 'shop' })
  names.setSlice(
    slice('db', 'db-1', {
      endpoints: [
        { addresses: ['10.244.0.5'], hostname: 'db-0', targetRef: pod('db-0'), conditions: { ready: true } },
        { addresses: ['10.244.0.6'], targetRef: pod('db-x'), conditions: {} },
        { addresses: ['10.244.0.7'], hostname: 'db-2', conditions: { ready: false, serving: true, terminating: true } },
      ],
      ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
    }),
  )
  names.setSlice(
    slice('db', 'db-6', {
      addressType: 'IPv6',
      endpoints: [{ addresses: ['fd00:244::'], hostname: 'db-0' }],
      ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
    }),
  )
  names.setSlice(slice('bare', 'bare-1', { endpoints: [{ addresses: ['10.244.0.8'] }], ports: [] }))
  names.setSlice(
    slice('web', 'web-1', { endpoints: [{ addresses: ['10.244.0.9'] }], ports: [{ name: 'http', port: 8080, protocol: 'TCP' }] }),
  )
  names.setService({
    metadata: { namespace: 'kube-system', name: 'kube-dns' },
    spec: { clusterIP: '10.96.0.10', ports: [{ name: 'dns', port: 53, protocol: 'UDP' }] },
  })
  names.setSlice({
    ...slice('kube-dns', 'kube-dns', { endpoints: [{ addresses: ['172.30.0.1'] }] }),
    metadata: { namespace: 'kube-system', name: 'kube-dns', labels: { 'kubernetes.io/service-name': 'kube-dns' } },
  })
  names.setPod({
    metadata: { namespace: 'shop', name: 'p' },
    spec: {},
    status: { podIPs: [{ ip: '10.244.0.9' }, { ip: 'fd00:244::9' }] },
  } as unknown as V1Pod)
  return names
}

function text(record: DnsRecord): string {
  const { name, ttlSeconds, type } = record
  const data =
    'address' in record
      ? record.address
      : record.type === 'SRV'
        ? `${record.priority} ${record.weight} ${record.port} ${record.target}`
        : 'target' in record
          ? record.target
          : 'texts' in record
            ? record.texts.join()
            : ''
  return `${name} ${ttlSeconds} ${type} ${data}`.trim()
}

/** `NXDOMAIN`, `NODATA`, or the records; behind a `+` those that go with them. */
function ask(asked: string, type: string, settings: Partial<ClusterZone> = {}, names = exampleNames()): string[] {
  const answer = answerFromCluster(names, { ...zone, ...settings }, { name: asked.toLowerCase(), asked, type: recordTypeNumber(type) ?? 0 })
  if (answer === undefined) return ['not ours']
  if (answer.outcome === 'no such name') return ['NXDOMAIN']
  if (answer.outcome === 'refused') return ['REFUSED']
  const lines = [...answer.answers.map(text), ...answer.additional.map((record) => `+ ${text(record)}`)]
  if (answer.goOnWith !== undefined) lines.push(`-> ${answer.goOnWith}`)
  return lines.length === 0 ? ['NODATA'] : lines
}

const suffix = 'shop.svc.cluster.local.'
const table: [question: string, answer: string[]][] = [
  // Services with an address.
  [`web.${suffix} A`, [`web.${suffix} 30 A 10.96.1.1`]],
  [`web.${suffix} AAAA`, [`web.${suffix} 30 AAAA fd00:96::1`]],
  [`WEB.Shop.svc.Cluster.local. A`, ['WEB.Shop.svc.Cluster.local. 30 A 10.96.1.1']],
  [`idle.${suffix} A`, [`idle.${suffix} 30 A 10.96.1.9`]],
  [`idle.${suffix} AAAA`, ['NODATA']],
  [`web.${suffix} MX`, ['NODATA']],
  [`web.${suffix} TXT`, ['NODATA']],
  [`web.${suffix} TYPE65`, ['NODATA']],
  [`web.${suffix} NS`, ['NODATA']],
  [`web.${suffix} CNAME`, ['NODATA']],
  ['web.shop.cluster.local. A', ['web.shop.cluster.local. 30 A 10.96.1.1']],
  [
    `_http._tcp.web.${suffix} SRV`,
    [`_http._tcp.web.${suffix} 30 SRV 0 50 80 web.${suffix}`, `+ web.${suffix} 30 A 10.96.1.1`, `+ web.${suffix} 30 AAAA fd00:96::1`],
  ],
  [
    `_dns._udp.web.${suffix} SRV`,
    [`_dns._udp.web.${suffix} 30 SRV 0 50 53 web.${suffix}`, `+ web.${suffix} 30 A 10.96.1.1`, `+ web.${suffix} 30 AAAA fd00:96::1`],
  ],
  [`_http._tcp.web.${suffix} A`, [`_http._tcp.web.${suffix} 30 A 10.96.1.1`]],
  [`_http._udp.web.${suffix} SRV`, ['NXDOMAIN']],
  [`_none._tcp.web.${suffix} SRV`, ['NXDOMAIN']],
  [`idle.${suffix} SRV`, [`idle.${suffix} 30 SRV 0 100 80 idle.${suffix}`, `+ idle.${suffix} 30 A 10.96.1.9`]],
  // One of its endpoints has a name too.
  [`10-244-0-9.web.${suffix} A`, [`10-244-0-9.web.${suffix} 30 A 10.244.0.9`]],
  // Headless ones: the endpoints that are ready.
  [`db.${suffix} A`, [`db.${suffix} 30 A 10.244.0.5`, `db.${suffix} 30 A 10.244.0.6`]],
  [`db.${suffix} AAAA`, [`db.${suffix} 30 AAAA fd00:244::`]],
  [`db-0.db.${suffix} A`, [`db-0.db.${suffix} 30 A 10.244.0.5`]],
  [`db-0.db.${suffix} AAAA`, [`db-0.db.${suffix} 30 AAAA fd00:244::`]],
  [`db-2.db.${suffix} A`, ['NXDOMAIN']],
  [`10-244-0-6.db.${suffix} A`, [`10-244-0-6.db.${suffix} 30 A 10.244.0.6`]],
  [`10-244-0-6.db.${suffix} AAAA`, ['NODATA']],
  [`10-244-0-5.db.${suffix} A`, ['NXDOMAIN']],
  [
    `_http._tcp.db.${suffix} SRV`,
    [
      `_http._tcp.db.${suffix} 30 SRV 0 33 8080 db-0.db.${suffix}`,
      `_http._tcp.db.${suffix} 30 SRV 0 33 8080 10-244-0-6.db.${suffix}`,
      `+ db-0.db.${suffix} 30 A 10.244.0.5`,
      `+ 10-244-0-6.db.${suffix} 30 A 10.244.0.6`,
      `+ db-0.db.${suffix} 30 AAAA fd00:244::`,
    ],
  ],
  [`bare.${suffix} A`, [`bare.${suffix} 30 A 10.244.0.8`]],
  [`bare.${suffix} SRV`, ['NODATA']],
  [`nobody.${suffix} A`, ['NXDOMAIN']],
  // Other names.
  [`outside.${suffix} CNAME`, [`outside.${suffix} 30 CNAME example.com.`]],
  [`outside.${suffix} A`, [`outside.${suffix} 30 CNAME example.com.`, '-> example.com.']],
  [`outside.${suffix} SRV`, ['NODATA']],
  [`x.outside.${suffix} A`, ['NXDOMAIN']],
  [`alias.${suffix} A`, [`alias.${suffix} 30 CNAME web.${suffix}`, `web.${suffix} 30 A 10.96.1.1`]],
  [`ring-a.${suffix} A`, ['NODATA']],
  [`no-name.${suffix} A`, ['NXDOMAIN']],
  // Pods by their addresses.
  ['10-244-0-9.shop.pod.cluster.local. A', ['10-244-0-9.shop.pod.cluster.local. 30 A 10.244.0.9']],
  ['fd00-244--9.shop.pod.cluster.local. AAAA', ['fd00-244--9.shop.pod.cluster.local. 30 AAAA fd00:244::9']],
  ['10-244-0-9.empty.pod.cluster.local. A', ['NXDOMAIN']],
  ['10-244-0-99.shop.pod.cluster.local. A', ['NXDOMAIN']],
  ['not-an-ad-dress.shop.pod.cluster.local. A', ['NXDOMAIN']],
  // What only holds others exists.
  ['cluster.local. A', ['NODATA']],
  ['svc.cluster.local. A', ['NODATA']],
  ['pod.cluster.local. A', ['NODATA']],
  ['shop.svc.cluster.local. A', ['NODATA']],
  ['nowhere.svc.cluster.local. A', ['NXDOMAIN']],
  ['web.nowhere.svc.cluster.local. A', ['NXDOMAIN']],
  [`none.${suffix} A`, ['NXDOMAIN']],
  [`a.b.c.web.${suffix} A`, ['NXDOMAIN']],
  // What a search path makes of names of the world.
  ['example.com.shop.svc.cluster.local. A', ['NXDOMAIN']],
  ['example.com.svc.cluster.local. A', ['NXDOMAIN']],
  ['example.com.cluster.local. A', ['NXDOMAIN']],
  ['example.com. A', ['not ours']],
  // The zone about itself.
  ['cluster.local. SOA', ['cluster.local. 30 SOA']],
  [
    'cluster.local. NS',
    ['cluster.local. 30 NS kube-dns.kube-system.svc.cluster.local.', '+ kube-dns.kube-system.svc.cluster.local. 30 A 10.96.0.10'],
  ],
  ['ns.dns.cluster.local. A', ['ns.dns.cluster.local. 30 A 10.96.0.10']],
  ['dns-version.cluster.local. TXT', ['dns-version.cluster.local. 28800 TXT 1.1.0']],
  ['cluster.local. AXFR', ['REFUSED']],
  // Addresses.
  ['1.1.96.10.in-addr.arpa. PTR', ['1.1.96.10.in-addr.arpa. 30 PTR web.shop.svc.cluster.local.']],
  ['5.0.244.10.in-addr.arpa. PTR', ['5.0.244.10.in-addr.arpa. 30 PTR db-0.db.shop.svc.cluster.local.']],
  ['9.0.244.10.in-addr.arpa. PTR', ['9.0.244.10.in-addr.arpa. 30 PTR 10-244-0-9.web.shop.svc.cluster.local.']],
  ['1.1.1.1.in-addr.arpa. PTR', ['NXDOMAIN']],
  ['1.in-addr.arpa. PTR', ['NXDOMAIN']],
]

describe("a cluster's names", () => {
  for (const [question, expected] of table) {
    test(`${question} is ${expected[0]}`, () => {
      const [name = '', type = ''] = question.split(' ')
      assert.deepEqual(ask(name, type), expected)
    })
  }

  test('pods are answered for without a look, or not at all, where that is asked for', () => {
    assert.deepEqual(ask('1-2-3-4.shop.pod.cluster.local.', 'A', { pods: 'insecure' }), ['1-2-3-4.shop.pod.cluster.local. 30 A 1.2.3.4'])
    assert.deepEqual(ask('1-2-3-4.nowhere.pod.cluster.local.', 'A', { pods: 'insecure' }), ['NXDOMAIN'])
    assert.deepEqual(ask('10-244-0-9.shop.pod.cluster.local.', 'A', { pods: 'disabled' }), ['NXDOMAIN'])
  })

  test('endpoints are called after their pods where that is asked for', () => {
    assert.deepEqual(ask(`db-x.db.${suffix}`, 'A', { endpointPodNames: true }), [`db-x.db.${suffix} 30 A 10.244.0.6`])
    assert.deepEqual(ask(`db-x.db.${suffix}`, 'A'), ['NXDOMAIN'])
    assert.deepEqual(ask(`db-0.db.${suffix}`, 'A', { endpointPodNames: true }), [`db-0.db.${suffix} 30 A 10.244.0.5`])
  })

  test('services without endpoints and namespaces that are not named can be left out', () => {
    assert.deepEqual(ask(`idle.${suffix}`, 'A', { ignoresEmptyServices: true }), ['NXDOMAIN'])
    assert.deepEqual(ask(`web.${suffix}`, 'A', { ignoresEmptyServices: true }), [`web.${suffix} 30 A 10.96.1.1`])
    assert.deepEqual(ask(`web.${suffix}`, 'A', { namespaces: ['kube-system'] }), ['NXDOMAIN'])
  })

  test('an endpoint with an IPv6 address has a name made of it', () => {
    const names = exampleNames()
    const [reverse = ''] = ask('0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.4.4.2.0.0.0.d.f.ip6.arpa.', 'PTR', {}, names)
    assert.match(reverse, /PTR db-0\.db\.shop/)
    names.setSlice(slice('db', 'db-6', { addressType: 'IPv6', endpoints: [{ addresses: ['fd00:244::'] }] }))
    assert.deepEqual(ask(`fd00-244--0.db.${suffix}`, 'AAAA', {}, names), [`fd00-244--0.db.${suffix} 30 AAAA fd00:244::`])
  })

  test('what is removed is forgotten by name and by address', () => {
    const names = exampleNames()
    const { version } = names
    names.removeService(service('web', {}))
    names.removeSlice(slice('db', 'db-1', {}))
    names.removePod({ metadata: { namespace: 'shop', name: 'p' } } as V1Pod)
    names.removeNamespace({ metadata: { name: 'empty' } } as V1Namespace)
    assert.ok(names.version > version)
    assert.deepEqual(ask(`web.${suffix}`, 'A', {}, names), ['NXDOMAIN'])
    assert.deepEqual(ask('1.1.96.10.in-addr.arpa.', 'PTR', {}, names), ['NXDOMAIN'])
    assert.deepEqual(ask(`db.${suffix}`, 'A', {}, names), ['NODATA'])
    assert.deepEqual(ask('5.0.244.10.in-addr.arpa.', 'PTR', {}, names), ['NXDOMAIN'])
    assert.deepEqual(ask('10-244-0-9.shop.pod.cluster.local.', 'A', {}, names), ['NXDOMAIN'])
    assert.deepEqual(ask('empty.svc.cluster.local.', 'A', {}, names), ['NXDOMAIN'])
  })

  test('a slice that changes is seen at once', () => {
    const names = exampleNames()
    ask(`db-0.db.${suffix}`, 'A', {}, names)
    names.setSlice(slice('db', 'db-1', { endpoints: [{ addresses: ['10.244.9.9'], hostname: 'db-0' }] }))
    assert.deepEqual(ask(`db-0.db.${suffix}`, 'A', {}, names), [`db-0.db.${suffix} 30 A 10.244.9.9`])
  })

  test('the start of authority says for how long a no may be remembered', () => {
    const record = startOfAuthority('cluster.local.', { ttlSeconds: 600 }, 17)
    assert.deepEqual(record, {
      ...{
        name: 'cluster.local.',
        class: 1,
        ttlSeconds: 300,
        type: 'SOA',
        primary: 'ns.dns.cluster.local.',
        mailbox: 'hostmaster.cluster.local.',
      },
      ...{ serial: 17, refreshSeconds: 7200, retrySeconds: 1800, expireSeconds: 86_400, minimumSeconds: 600 },
    })
  })

  test('names of addresses are read in both families', () => {
    assert.equal(addressOfReverseName('4.3.2.1.in-addr.arpa.'), '1.2.3.4')
    assert.equal(addressOfReverseName('a.4.3.2.1.in-addr.arpa.'), undefined)
    assert.equal(addressOfReverseName('1.ip6.arpa.'), undefined)
  })
})

describe('a service with more endpoints than an answer has room for', () => {
  const count = 10_000
  const names = exampleNames()
  names.setService(service('huge', { clusterIP: 'None', ports: [http] }))
  for (let part = 0; part < count / 1000; part++) {
    const endpoints = Array.from({ length: 1000 }, (_, index) => ({ addresses: [`10.${part}.${index >> 8}.${index & 255}`] }))
    names.setSlice(slice('huge', `huge-${part}`, { endpoints, ports: [http] }))
  }
  const asked = (type: string, turn: number) => {
    const name = 'huge.shop.svc.cluster.local.'
    return answerFromCluster(names, zone, { name, asked: name, type: recordTypeNumber(type) ?? 0 }, turn)?.answers ?? []
  }

  test('gives some of them, and others another time', () => {
    const seen = new Set<string>()
    for (let turn = 0; turn < count; turn += 4096) {
      const answers = asked('A', turn)
      assert.equal(answers.length, 4096)
      for (const record of answers) if (record.type === 'A') seen.add(record.address)
    }
    assert.equal(seen.size, count)
    assert.equal(asked('SRV', 7).length, 4096)
  })
})
