import assert from 'node:assert/strict'
import { test } from 'node:test'
import { kernelSettings } from '#proxy/configuration/machine-settings.ts'
import { defaultProxyConfiguration } from '#proxy/configuration/proxy-configuration.ts'
import { readProxyConfiguration } from '#proxy/configuration/read-configuration.ts'
import { ruleSettingsOf } from '#proxy/configuration/rule-settings-of.ts'

const head = 'apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n'

test('a file is laid over the defaults, field by field', async () => {
  const { configuration, ignored } = await readProxyConfiguration(
    `${head}mode: ipvs\nipvs:\n  scheduler: wlc\n  excludeCIDRs: null\nwinkernel: {}\nclusterCIDR: 10.244.0.0/16\n`,
    'f',
  )
  assert.equal(configuration.mode, 'ipvs')
  assert.deepEqual([configuration.ipvs.scheduler, configuration.ipvs.syncPeriod], ['wlc', '30s'])
  assert.deepEqual(ignored, ['winkernel'])
})

test('a file that cannot be meant is refused, with the place', async () => {
  await assert.rejects(
    readProxyConfiguration('kind: Pod\n', 'f'),
    /f: expected KubeProxyConfiguration of kubeproxy.config.k8s.io\/v1alpha1/,
  )
  await assert.rejects(readProxyConfiguration(`${head}ipvs: { schedular: rr }\n`, 'f'), /f: unknown field "ipvs.schedular"/)
  await assert.rejects(
    readProxyConfiguration(`${head}mode: kernelspace\n`, 'f'),
    /f: mode must be one of nftables, iptables, ipvs, userspace/,
  )
  await assert.rejects(readProxyConfiguration(`${head}detectLocalMode: BridgeInterface\n`, 'f'), /bridgeInterface must be set/)
  await assert.rejects(readProxyConfiguration(`${head}iptables: { masqueradeBit: 40 }\n`, 'f'), /within the range \[0, 31\]/)
})

test('how packets of pods are known, and where node ports answer', () => {
  const node = {
    metadata: { name: 'n1' },
    spec: { podCIDRs: ['10.1.0.0/24', 'fd00::/64'] },
    status: { addresses: [{ type: 'InternalIP', address: '192.0.2.1' }] },
  }
  const environment = { node, serviceCidrs: [], ownAddresses: ['192.0.2.1', '198.51.100.1', '10.1.0.1'] }
  const defaults = defaultProxyConfiguration()
  const settings = (more: Partial<typeof defaults>, mode: 'nftables' | 'iptables' = 'nftables') =>
    ruleSettingsOf({ ...defaults, ...more }, mode, environment)
  assert.deepEqual(settings({}).podTraffic, { kind: 'unknown' })
  assert.deepEqual(settings({ clusterCIDR: '10.0.0.0/8,fd00::/8' }).podTraffic, { kind: 'cidr', cidrs: ['10.0.0.0/8', 'fd00::/8'] })
  assert.deepEqual(settings({ detectLocalMode: 'NodeCIDR' }).podTraffic, { kind: 'cidr', cidrs: ['10.1.0.0/24', 'fd00::/64'] })
  assert.deepEqual(settings({}).nodePortAddresses, ['192.0.2.1'], "nftables: the node's own")
  assert.equal(settings({}, 'iptables').nodePortAddresses, 'all')
  assert.deepEqual(settings({ nodePortAddresses: ['198.51.100.0/24'] }).nodePortAddresses, ['198.51.100.1'])
  assert.equal(settings({}).masqueradeMark, 0x4000)
})

test('connections to keep track of: so many for each core, at least so many', () => {
  const defaults = defaultProxyConfiguration()
  assert.equal(kernelSettings(defaults, 2).get('net/netfilter/nf_conntrack_max'), '131072')
  assert.equal(kernelSettings(defaults, 64).get('net/netfilter/nf_conntrack_max'), '2097152')
  assert.equal(kernelSettings(defaults, 2).get('net/netfilter/nf_conntrack_tcp_timeout_established'), '86400')
  assert.equal(kernelSettings(defaults, 2).has('net/netfilter/nf_conntrack_udp_timeout'), false)
})
