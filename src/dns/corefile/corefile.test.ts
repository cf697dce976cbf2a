import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { defaultCorefile, nodeCacheCorefile } from '#dns/corefile/default-corefile.ts'
import { parseDuration } from '#dns/corefile/duration.ts'
import { kubeDnsSettings } from '#dns/corefile/kube-dns-settings.ts'
import { parseCorefile } from '#dns/corefile/parse-corefile.ts'
import { parseZoneAddress } from '#dns/corefile/zone-address.ts'
import { serverAddress } from '#dns/plugins/forward.ts'
import { DnsUnderTest } from '#dns/testing/dns-under-test.ts'

describe('a Corefile', () => {
  test('has blocks, plugins, options, snippets, comments, quotes and the environment', () => {
    const text = `# a comment
(common) {
  errors
}
.:53 example.org, {
  import common
  forward . {$UPSTREAM} { # on
    policy "round_robin"
  }
}
cluster.local {
  log }
`
    const directive = (name: string, args: string[], line: number, block: unknown[] = []) => ({ name, args, line, block })
    assert.deepEqual(parseCorefile(text, { UPSTREAM: '10.0.0.1' }), [
      {
        ...{ zones: ['.:53', 'example.org'], line: 5 },
        directives: [directive('errors', [], 3), directive('forward', ['.', '10.0.0.1'], 7, [directive('policy', ['round_robin'], 8)])],
      },
      { zones: ['cluster.local'], line: 11, directives: [directive('log', [], 12)] },
    ])
  })

  const wrong: [string, RegExp][] = [
    ['. {\n whoami\n}', /line 2: there is no plugin whoami here; there are reload, /],
    ['. {\n errors', /line 1: the \{ has no \}/],
    ['.', /line 1: the block \. has no \{/],
    ['. {\n import nothing\n}', /line 2: there is no snippet \(nothing\)/],
    ['. {\n cache\n cache\n}', /line 3: cache is there twice/],
    ['. {\n cache {\n  refresh\n }\n}', /line 3: cache has no option refresh/],
    ['. {\n errors\n}\n. {\n errors\n}', /line 4: the zone \. is served at port 53 already/],
    ['tls://. {\n errors\n}', /tls is not served/],
    ['. {\n forward . tls://1.1.1.1\n}', /tls is not spoken/],
    ['. {\n forward . dns.example\n}', /dns\.example is not a valid address of a name server/],
    ['. {\n kubernetes {\n  endpoint https://x\n }\n}', /kubernetes has no option endpoint/],
    ['. {\n rewrite class IN CH\n}', /class is not rewritten/],
    ['. {\n rewrite name regex ( x\n}', /line 2: rewrite name regex: \(/],
    ['. {\n bind eth0\n}', /eth0 is not a valid address/],
    ['. {\n health nowhere\n}', /nowhere is not a valid address and port/],
    ['', /has no block/],
  ]
  for (const [text, error] of wrong) {
    test(`is refused: ${JSON.stringify(text)}`, async () => {
      await assert.rejects(DnsUnderTest.start(text), error)
    })
  }

  test('what a cluster gets by itself can be read', async () => {
    const stubDomains = { 'corp.example': ['10.1.0.1', '10.1.0.2:5353'] }
    const options = { clusterDomain: 'cluster.local', upstreams: ['10.0.0.1'], stubDomains, servesHealth: true }
    const dns = await DnsUnderTest.start(defaultCorefile(options), { answering: () => ({}) })
    assert.deepEqual(
      dns.blocks.map(({ zones }) => zones),
      [['.'], ['corp.example.']],
    )
    await dns.ask('x.corp.example.')
    assert.match(dns.upstreams.asked[0] ?? '', /^10\.1\.0\.[12]:/)
    assert.equal(dns.blocks[0]?.parts.flatMap(({ http }) => http ?? []).length, 3)
    await DnsUnderTest.start(defaultCorefile({ ...options, upstreams: [], servesHealth: false }))
  })

  test('a cache on a node asks the cluster by TCP and the world by itself', async () => {
    const corefile = nodeCacheCorefile({
      addresses: ['169.254.20.10'],
      clusterDomain: 'cluster.local',
      clusterServers: ['10.96.0.10'],
      upstreams: ['10.0.0.1'],
    })
    const dns = await DnsUnderTest.start(corefile, { answering: () => ({}) })
    await dns.ask('web.shop.svc.cluster.local.')
    await dns.ask('example.org.')
    assert.deepEqual(dns.upstreams.asked, ['10.96.0.10:53 tcp web.shop.svc.cluster.local. 1', '10.0.0.1:53 udp example.org. 1'])
    assert.deepEqual(
      dns.blocks.map(({ bind }) => bind),
      new Array(4).fill(['169.254.20.10']),
    )
  })
})

describe('parts of configurations', () => {
  test('zones', () => {
    assert.deepEqual(parseZoneAddress('dns://Example.org:1053', 1), { zone: 'example.org.', port: 1053 })
    assert.deepEqual(parseZoneAddress(':1053', 1), { zone: '.', port: 1053 })
    assert.deepEqual(parseZoneAddress('10.96.0.0/16', 1), { zone: '96.10.in-addr.arpa.', port: 53 })
    assert.throws(() => parseZoneAddress('10.96.0.0/12', 3), /line 3/)
  })
  test('addresses of servers', () => {
    assert.deepEqual(serverAddress('1.1.1.1'), { host: '1.1.1.1', port: 53 })
    assert.deepEqual(serverAddress('dns://1.1.1.1:54'), { host: '1.1.1.1', port: 54 })
    assert.deepEqual(serverAddress('fd00::53'), { host: 'fd00::53', port: 53 })
    assert.deepEqual(serverAddress('[fd00::53]:54'), { host: 'fd00::53', port: 54 })
  })
  test('lengths of time', () => {
    assert.deepEqual(
      ['30', '1m30s', '500ms'].map((text) => parseDuration(text, 1)),
      [30_000, 90_000, 500],
    )
    assert.throws(() => parseDuration('soon', 2), /line 2: soon/)
  })
  test('the config map of kube-dns', () => {
    const data = { stubDomains: '{"acme.local": ["1.2.3.4"]}', upstreamNameservers: '["8.8.8.8", "8.8.4.4:5353"]' }
    assert.deepEqual(kubeDnsSettings(data), { stubDomains: { 'acme.local': ['1.2.3.4'] }, upstreams: ['8.8.8.8', '8.8.4.4:5353'] })
    assert.deepEqual(kubeDnsSettings({}), { stubDomains: {}, upstreams: undefined })
    assert.throws(() => kubeDnsSettings({ upstreamNameservers: 'x' }), /upstreamNameservers is not valid JSON/)
    assert.throws(() => kubeDnsSettings({ upstreamNameservers: '["x"]' }), /x is not a valid address/)
    assert.throws(() => kubeDnsSettings({ stubDomains: '{"a b": ["1.2.3.4"]}' }), /a b is not a valid domain/)
    assert.throws(() => kubeDnsSettings({ stubDomains: '[]' }), /not a map/)
  })
})
