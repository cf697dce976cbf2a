import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Pod, V1PodSpec } from '#api/core/v1/types.gen.ts'
import { hostnameAndDomain, kernelHostname } from '#kubelet/environment/hostname.ts'
import { hostsFile } from '#kubelet/environment/hosts-file.ts'

const aPod = (spec: Partial<V1PodSpec>, name = 'web-0'): V1Pod =>
  ({ metadata: { name, namespace: 'shop' }, spec: { containers: [], ...spec } }) as unknown as V1Pod

const long = 'a'.repeat(62)

const names: [spec: Partial<V1PodSpec>, kernel: string, domain: string][] = [
  [{}, 'web-0', ''],
  [{ hostname: 'db' }, 'db', ''],
  [{ hostname: 'db', subdomain: 'data' }, 'db', 'data.shop.svc.cluster.local'],
  [{ hostname: 'db', subdomain: 'data', setHostnameAsFQDN: true }, 'db.data.shop.svc.cluster.local', 'data.shop.svc.cluster.local'],
  [{ setHostnameAsFQDN: true }, 'web-0', ''],
  [{ hostname: 'db', subdomain: 'data', hostnameOverride: 'any.name.at.all' }, 'any.name.at.all', ''],
  [{ hostNetwork: true, hostname: 'db' }, '', ''],
]

for (const [spec, kernel, domain] of names) {
  test(`${JSON.stringify(spec)} is called ${JSON.stringify(kernel)}`, () => {
    assert.equal(kernelHostname(aPod(spec), 'cluster.local'), kernel)
    assert.equal(hostnameAndDomain(aPod(spec), 'cluster.local').domain, domain)
  })
}

test('long names are cut, and end in a letter or a digit', () => {
  assert.equal(kernelHostname(aPod({}, `${long}.more`), 'cluster.local'), long)
  assert.equal(kernelHostname(aPod({}, `${long}-.-more`), 'cluster.local'), long)
})

test('names that are no names, and full names that are too long, are refused', () => {
  assert.throws(
    () => kernelHostname(aPod({ hostname: 'Not_a_name' }), 'cluster.local'),
    /^Error: pod Hostname "Not_a_name" is not a valid DNS label: a lowercase RFC 1123 label/,
  )
  assert.throws(() => kernelHostname(aPod({ subdomain: 'a.b' }), 'cluster.local'), /^Error: pod Subdomain "a\.b" is not a valid DNS label/)
  assert.throws(() => kernelHostname(aPod({ hostname: long, subdomain: 'data', setHostnameAsFQDN: true }), 'cluster.local'), {
    message: `failed to construct FQDN from pod hostname and cluster domain, FQDN ${long}.data.shop.svc.cluster.local is too long (64 characters is the max, 90 characters requested)`,
  })
})

const top = `# Kubernetes-managed hosts file.
127.0.0.1\tlocalhost
::1\tlocalhost ip6-localhost ip6-loopback
fe00::0\tip6-localnet
fe00::0\tip6-mcastprefix
fe00::1\tip6-allnodes
fe00::2\tip6-allrouters
`
const aliases = [
  { ip: '1.2.3.4', hostnames: ['a', 'b'] },
  { ip: '::5', hostnames: ['c'] },
]
const given = { ips: ['10.0.0.1', 'fd00::1'], hostname: 'db', domain: '', nodeHosts: '127.0.0.1 localhost\n' }

test('a hosts file names the pod, in its domain where it has one', () => {
  assert.equal(hostsFile(aPod({}), given), `${top}10.0.0.1\tdb\nfd00::1\tdb\n`)
  assert.equal(hostsFile(aPod({}), { ...given, domain: 'x.y' }), `${top}10.0.0.1\tdb.x.y\tdb\nfd00::1\tdb.x.y\tdb\n`)
})

test('a hosts file has the aliases asked for', () => {
  const added = '\n# Entries added by HostAliases.\n1.2.3.4\ta\tb\n::5\tc\n'
  assert.equal(hostsFile(aPod({ hostAliases: aliases }), given), `${top}10.0.0.1\tdb\nfd00::1\tdb\n${added}`)
  assert.equal(
    hostsFile(aPod({ hostAliases: aliases, hostNetwork: true }), given),
    `# Kubernetes-managed hosts file (host network).\n127.0.0.1 localhost\n${added}`,
  )
})
