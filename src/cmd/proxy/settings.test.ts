import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Command, optionValues } from '#base/options.ts'
import { proxyCommand, proxyOptions } from '#cmd/proxy/command.ts'
import { listenAddress } from '#cmd/proxy/serve-proxy-health.ts'
import { withFlags } from '#cmd/proxy/settings.ts'
import { assertUpstreamFlags, flagFacts } from '#cmd/testing/upstream-flags.ts'
import { defaultProxyConfiguration, ignoredFields } from '#proxy/configuration/proxy-configuration.ts'

function given(...words: string[]) {
  const command = new Command()
  proxyCommand(command)
  command.action(() => {})
  command.parse(words, { from: 'user' })
  const file = { ...defaultProxyConfiguration(), mode: 'ipvs' as const, clusterCIDR: '10.0.0.0/8' }
  return withFlags(file, optionValues(command, proxyOptions), (key) => command.getOptionValueSource(key) !== 'default')
}

test('flags go before the file, and only those that are given', () => {
  assert.deepEqual([given().mode, given().clusterCIDR], ['ipvs', '10.0.0.0/8'])
  const { mode, clusterCIDR, iptables, nftables, ipvs } = given(
    '--proxy-mode=iptables',
    '--iptables-min-sync-period=2s',
    '--ipvs-scheduler=sh',
  )
  assert.deepEqual([mode, clusterCIDR, ipvs.scheduler], ['iptables', '10.0.0.0/8', 'sh'])
  assert.deepEqual([iptables.minSyncPeriod, nftables.minSyncPeriod, iptables.syncPeriod], ['2000ms', '2000ms', '30s'])
})

test("every flag of kube-proxy's is taken, with its default", () => {
  assertUpstreamFlags('kube-proxy', { options: proxyOptions, ofCommand: ['config'] })
})

test("the configuration's defaults are kube-proxy's", () => {
  const { apiVersion, kind, ...upstream } = JSON.parse(flagFacts('kube-proxy-config-defaults.json')) as Record<string, unknown>
  for (const [field, value] of Object.entries(defaultProxyConfiguration())) {
    const theirs = upstream[field]
    const plain = (each: unknown) =>
      JSON.parse(JSON.stringify(each), (_, inner) => (Array.isArray(inner) && inner.length === 0 ? null : inner))
    assert.deepEqual(plain(value), theirs, field)
  }
  const known = [...Object.keys(defaultProxyConfiguration()), ...ignoredFields]
  assert.deepEqual(
    Object.keys(upstream).filter((field) => !known.includes(field)),
    [],
  )
})

test('flags are read as kube-proxy reads them', () => {
  const taken = given(
    '--conntrack-max-per-core=1',
    '--nodeport-addresses=primary',
    '--feature-gates=EnvFiles=true',
    '--v=2',
    '--masquerade-all',
  )
  assert.deepEqual([taken.conntrack.maxPerCore, taken.nodePortAddresses, taken.nftables.masqueradeAll], [1, ['primary'], true])
})

test('where health and metrics are served', () => {
  assert.deepEqual(listenAddress('0.0.0.0:10256'), { host: '0.0.0.0', port: 10_256 })
  assert.deepEqual(listenAddress('[::]:10256'), { host: '::', port: 10_256 })
  assert.equal(listenAddress(''), undefined)
  assert.equal(listenAddress('127.0.0.1:0'), undefined)
  assert.throws(() => listenAddress('here'), /is not a valid address and port/)
})
