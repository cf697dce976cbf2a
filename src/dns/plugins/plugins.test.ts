/** What each plugin does to a question, in virtual time. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import type { V1Namespace } from '#api/core/v1/types.gen.ts'
import { seededRandom } from '#base/random.ts'
import { ownRequest } from '#dns/handler.ts'
import { shuffled } from '#dns/plugins/loadbalance.ts'
import { DnsUnderTest } from '#dns/testing/dns-under-test.ts'
import type { Answering } from '#dns/testing/fake-upstream.ts'
import type { DnsRecord } from '#wire/dns/dns-message.ts'

const directory = mkdtempSync(join(tmpdir(), 'dns-'))
after(() => rmSync(directory, { recursive: true }))

const address = (name: string, ttlSeconds: number, text = '192.0.2.1'): DnsRecord => ({
  name,
  class: 1,
  ttlSeconds,
  type: 'A',
  address: text,
})
const start: DnsRecord = {
  ...{
    name: 'test.',
    class: 1,
    ttlSeconds: 60,
    type: 'SOA',
    primary: 'ns.test.',
    mailbox: 'm.test.',
    serial: 1,
    refreshSeconds: 1,
    retrySeconds: 1,
  },
  ...{ expireSeconds: 1, minimumSeconds: 20 },
}
/** Every name has an address for 100 s; what begins with `no` does not exist. */
const world: Answering = ({ questions: [question] }) => {
  const name = question?.name ?? ''
  if (question?.type === 2) return {}
  return name.startsWith('no') ? { rcode: 3, authority: [start] } : { answers: [address(name, 100)] }
}

describe('forward', () => {
  test('asks one of its servers, the next where that one is silent, and finds out when it is back', async () => {
    let isFirstUp = false
    const answering: Answering = (query, how) => (how.server === '10.0.0.1:53' && !isFirstUp ? undefined : world(query, how))
    const dns = await DnsUnderTest.start('. {\nforward . 10.0.0.1 10.0.0.2:5353 {\n policy sequential\n}\n}', { answering })
    assert.equal(await dns.ask('a.test.'), 'NOERROR 192.0.2.1/100')
    assert.deepEqual(
      dns.upstreams.asked.filter((line) => line.endsWith(' 1')),
      ['10.0.0.1:53 udp a.test. 1', '10.0.0.2:5353 udp a.test. 1'],
    )
    // Once it counts as down it is passed over.
    await dns.clock.advance({ seconds: 10 })
    dns.upstreams.asked.length = 0
    assert.equal(await dns.ask('b.test.'), 'NOERROR 192.0.2.1/100')
    assert.deepEqual(
      dns.upstreams.asked.filter((line) => line.includes('b.test.')),
      ['10.0.0.2:5353 udp b.test. 1'],
    )
    isFirstUp = true
    await dns.clock.advance({ seconds: 5 })
    dns.upstreams.asked.length = 0
    await dns.ask('c.test.')
    assert.deepEqual(dns.upstreams.asked, ['10.0.0.1:53 udp c.test. 1'])
    assert.match(
      dns.metrics.text(),
      /coredns_proxy_request_duration_seconds_count\{proxy_name="forward",to="10.0.0.1:53",rcode="NOERROR"\} 1/,
    )
  })

  test('nobody answers: SERVFAIL within five seconds, and a line says why', async () => {
    const dns = await DnsUnderTest.start('. {\nerrors\nforward . 10.0.0.1\n}')
    const before = dns.clock.monotonic()
    assert.equal(await dns.ask('a.test.'), 'SERVFAIL (read udp 10.0.0.1:53: i/o timeout)')
    assert.ok(dns.clock.monotonic() - before <= 6010)
    assert.equal(dns.log.at(-1)?.fields['error'], 'read udp 10.0.0.1:53: i/o timeout')
  })

  test('the same question is asked once, however many want to know', async () => {
    const dns = await DnsUnderTest.start('. {\nforward . 10.0.0.1\n}', {
      answering: (query, how) => ({ ...world(query, how), afterMs: 50 }),
    })
    await Promise.all([dns.ask('a.test.'), dns.ask('a.test.'), dns.ask('a.test.')])
    assert.equal(dns.upstreams.asked.length, 1)
  })

  test('an answer to another question, or with another number, is not taken', async () => {
    let tries = 0
    const wrong: Answering[] = [
      ({ id }) => ({ id: id ^ 1, answers: [address('a.test.', 1, '6.6.6.6')] }),
      () => ({ questions: [{ name: 'b.test.', type: 1, class: 1 }], answers: [address('a.test.', 1, '6.6.6.6')] }),
    ]
    const dns = await DnsUnderTest.start('. {\nforward . 10.0.0.1\n}', { answering: (query, how) => wrong[tries++ % 2]?.(query, how) })
    assert.equal(await dns.ask('a.test.'), 'SERVFAIL (read udp 10.0.0.1:53: i/o timeout)')
  })

  test('questions by TCP are sent on by TCP; force_tcp does it always; prefer_udp turns to it where the answer is cut', async () => {
    const long: Answering = (_, { protocol }) => (protocol === 'udp' ? { isTruncated: true } : { answers: [address('a.test.', 9)] })
    const dns = await DnsUnderTest.start('. {\nforward . 10.0.0.1\n}', { answering: long })
    assert.equal(await dns.ask('a.test.', 'A', { protocol: 'tcp' }), 'NOERROR 192.0.2.1/9')
    const forced = await DnsUnderTest.start('. {\nforward . 10.0.0.1 {\nforce_tcp\n}\n}', { answering: long })
    assert.equal(await forced.ask('a.test.'), 'NOERROR 192.0.2.1/9')
    const preferring = await DnsUnderTest.start('. {\nforward . 10.0.0.1 {\nprefer_udp\n}\n}', { answering: long })
    assert.equal(await preferring.ask('a.test.', 'A', { protocol: 'tcp' }), 'NOERROR 192.0.2.1/9')
    assert.deepEqual(
      preferring.upstreams.asked.map((line) => line.split(' ')[1]),
      ['udp', 'tcp'],
    )
  })

  test('a server that does not know the extensions of the protocol is asked without', async () => {
    const dns = await DnsUnderTest.start('. {\nforward . 10.0.0.1\n}', {
      answering(query, how) {
        if (query.edns === undefined) return world(query, how)
        return { edns: undefined as never, rcode: 1 }
      },
    })
    assert.equal(await dns.ask('a.test.'), 'NOERROR 192.0.2.1/100')
  })

  test('except leaves names to others, and more than max_concurrent are turned away', async () => {
    const dns = await DnsUnderTest.start('. {\nforward test 10.0.0.1 {\nexcept no.test\nmax_concurrent 1\n}\nforward . 10.0.0.2\n}', {
      answering: (query, how) => ({ ...world(query, how), afterMs: 100 }),
    })
    await dns.ask('x.no.test.')
    assert.deepEqual(dns.upstreams.asked, ['10.0.0.2:53 udp x.no.test. 1'])
    const both = await Promise.all([dns.ask('a.test.'), dns.ask('b.test.')])
    assert.deepEqual(both, ['NOERROR 192.0.2.1/100', 'SERVFAIL (concurrent queries exceeded maximum 1)'])
  })

  test('name servers come from a file', async () => {
    const path = join(directory, 'resolv.conf')
    writeFileSync(path, 'search x\nnameserver 10.0.0.7\nnameserver fd00::1\n')
    const dns = await DnsUnderTest.start(`. {\nforward . ${path} {\npolicy sequential\n}\n}`, { answering: world })
    await dns.ask('a.test.')
    assert.deepEqual(dns.upstreams.asked, ['10.0.0.7:53 udp a.test. 1'])
    for (const { parts } of dns.blocks) for (const part of parts) part.stop?.()
    await assert.rejects(DnsUnderTest.start('. {\nforward . /nonexistent\n}'), /\/nonexistent names none/)
  })
})

describe('cache', () => {
  const asks = (dns: DnsUnderTest) => dns.upstreams.asked.length

  test('gives out what it knows with the time that is left, and asks again when that is over', async () => {
    const dns = await DnsUnderTest.start('. {\ncache 30\nforward . 10.0.0.1\n}', { answering: world })
    assert.equal(await dns.ask('a.test.'), 'NOERROR 192.0.2.1/30')
    await dns.clock.advance({ seconds: 12 })
    assert.equal(await dns.ask('A.test.'), 'NOERROR 192.0.2.1/18')
    assert.equal(asks(dns), 1)
    await dns.clock.advance({ seconds: 18 })
    assert.equal(await dns.ask('a.test.'), 'NOERROR 192.0.2.1/30')
    assert.equal(asks(dns), 2)
    assert.match(dns.metrics.text(), /coredns_cache_hits_total\{.*type="success"\} 1/)
  })

  test('remembers what does not exist for as long as its zone says', async () => {
    const dns = await DnsUnderTest.start('. {\ncache\nforward . 10.0.0.1\n}', { answering: world })
    await dns.ask('no.test.')
    await dns.clock.advance({ seconds: 19 })
    assert.equal(await dns.ask('no.test.'), 'NXDOMAIN')
    assert.equal(asks(dns), 1)
    await dns.clock.advance({ seconds: 1 })
    await dns.ask('no.test.')
    assert.equal(asks(dns), 2)
  })

  test('remembers failures of servers for five seconds, and refusals not at all', async () => {
    const dns = await DnsUnderTest.start('. {\ncache\nforward . 10.0.0.1\n}', {
      answering: ({ questions: [q] }) => ({ rcode: q?.name === 'f.test.' ? 2 : 5 }),
    })
    for (const name of ['f.test.', 'f.test.', 'r.test.', 'r.test.']) await dns.ask(name)
    assert.deepEqual(
      dns.upstreams.asked.map((line) => line.split(' ')[2]),
      ['f.test.', 'r.test.', 'r.test.'],
    )
    await dns.clock.advance({ seconds: 5 })
    await dns.ask('f.test.')
    assert.equal(asks(dns), 4)
  })

  test('a name that only leads to another, with no word of how long that is so, is not kept', async () => {
    const alias: DnsRecord = { name: 'a.test.', class: 1, ttlSeconds: 60, type: 'CNAME', target: 'b.test.' }
    const dns = await DnsUnderTest.start('. {\ncache\nforward . 10.0.0.1\n}', { answering: () => ({ answers: [alias] }) })
    await dns.ask('a.test.')
    await dns.ask('a.test.')
    assert.equal(asks(dns), 2)
  })

  test('cut answers are not kept', async () => {
    const dns = await DnsUnderTest.start('. {\ncache\nforward . 10.0.0.1\n}', {
      answering: () => ({ isTruncated: true, answers: [address('a.test.', 60)] }),
    })
    await dns.ask('a.test.')
    await dns.ask('a.test.')
    assert.equal(asks(dns), 2)
  })

  test('what is popular is asked for before its time is over, without anybody waiting', async () => {
    const dns = await DnsUnderTest.start('. {\ncache {\nprefetch 2 1m 20%\n}\nforward . 10.0.0.1\n}', { answering: world })
    await dns.ask('a.test.')
    for (const _ of [1, 2, 3]) {
      await dns.clock.advance({ seconds: 28 })
      await dns.ask('a.test.')
    }
    assert.equal(asks(dns), 2)
    assert.equal(await dns.ask('a.test.'), 'NOERROR 192.0.2.1/100')
    assert.match(dns.metrics.text(), /coredns_cache_prefetch_total\{.*\} 1/)
  })

  for (const mode of ['immediate', 'verify']) {
    test(`serves what is stale while nobody answers (${mode})`, async () => {
      let isUp = true
      const dns = await DnsUnderTest.start(`. {\ncache {\nserve_stale 1h ${mode}\n}\nforward . 10.0.0.1\n}`, {
        answering: (query, how) => (isUp ? world(query, how) : undefined),
      })
      await dns.ask('a.test.')
      isUp = false
      await dns.clock.advance({ seconds: 200 })
      assert.equal(await dns.ask('a.test.'), 'NOERROR 192.0.2.1/0')
      isUp = true
      await dns.clock.advance({ seconds: 20 })
      await dns.ask('a.test.')
      await dns.clock.advance({ seconds: 1 })
      assert.match(await dns.ask('a.test.'), /^NOERROR 192.0.2.1\/[1-9]\d+$/)
      isUp = false
      await dns.clock.advance({ hours: 2 })
      assert.match(await dns.ask('a.test.'), /^SERVFAIL/)
    })
  }

  test('holds no more than it may', async () => {
    const dns = await DnsUnderTest.start('. {\ncache {\nsuccess 2\n}\nforward . 10.0.0.1\n}', { answering: world })
    for (const name of ['a.', 'b.', 'c.', 'a.']) await dns.ask(name)
    assert.equal(asks(dns), 4)
    await dns.ask('c.')
    assert.equal(asks(dns), 4)
  })

  test('large answers push out old ones before they fill the memory', async () => {
    const texts = Array.from({ length: 200 }, () => 'x'.repeat(255))
    const answering: Answering = ({ questions: [question] }) => ({
      answers: [{ name: question?.name ?? '', class: 1, ttlSeconds: 100, type: 'TXT', texts }],
    })
    const dns = await DnsUnderTest.start('. {\ncache\nforward . 10.0.0.1\n}', { answering })
    for (let index = 0; index < 800; index++) await dns.ask(`${index}.`, 'TXT', { protocol: 'tcp' })
    assert.match(dns.metrics.text(), /coredns_cache_evictions_total\{.*type="success".*\} 1\d\d\n/)
    await dns.ask('799.', 'TXT', { protocol: 'tcp' })
    assert.equal(asks(dns), 800)
    await dns.ask('0.', 'TXT', { protocol: 'tcp' })
    assert.equal(asks(dns), 801)
  })

  test('zones can be left out, and questions with and without DNSSEC are different ones', async () => {
    const dns = await DnsUnderTest.start('. {\ncache {\ndisable success test\nkeepttl\n}\nforward . 10.0.0.1\n}', { answering: world })
    for (const name of ['a.test.', 'a.test.', 'b.']) await dns.ask(name)
    await dns.ask('b.', 'A', { isDnssecOk: true })
    assert.equal(asks(dns), 4)
    await dns.clock.advance({ seconds: 50 })
    assert.equal(await dns.ask('b.'), 'NOERROR 192.0.2.1/100')
  })
})

describe('kubernetes', () => {
  const corefile = '. {\nkubernetes cluster.local in-addr.arpa {\npods insecure\nfallthrough in-addr.arpa\nttl 30\n}\nforward . 10.0.0.1\n}'
  const filled = async () => {
    const dns = await DnsUnderTest.start(corefile, { answering: world })
    dns.names.setNamespace({ metadata: { name: 'shop' } } as V1Namespace)
    dns.names.setService({ metadata: { namespace: 'shop', name: 'web' }, spec: { clusterIP: '10.96.0.5' } })
    dns.names.setService({ metadata: { namespace: 'shop', name: 'out' }, spec: { type: 'ExternalName', externalName: 'example.test' } })
    return dns
  }

  test('answers for the cluster, sends the rest on, and falls through where it may', async () => {
    const dns = await filled()
    assert.equal(await dns.ask('web.shop.svc.cluster.local.'), 'NOERROR 10.96.0.5/30')
    assert.equal(await dns.ask('none.shop.svc.cluster.local.'), 'NXDOMAIN')
    assert.equal(await dns.ask('a.test.'), 'NOERROR 192.0.2.1/100')
    assert.equal(await dns.ask('5.0.96.10.in-addr.arpa.', 'PTR'), 'NOERROR web.shop.svc.cluster.local./30')
    await dns.ask('8.8.8.8.in-addr.arpa.', 'PTR')
    assert.deepEqual(dns.upstreams.asked, ['10.0.0.1:53 udp a.test. 1', '10.0.0.1:53 udp 8.8.8.8.in-addr.arpa. 12'])
  })

  test('a name outside is looked up by the same server', async () => {
    const dns = await filled()
    assert.equal(await dns.ask('out.shop.svc.cluster.local.'), 'NOERROR example.test./30 192.0.2.1/100')
  })

  test('before the cluster is known nothing is said not to exist', async () => {
    const dns = await filled()
    dns.hasSynced = false
    assert.equal(await dns.ask('none.shop.svc.cluster.local.'), 'SERVFAIL')
    assert.equal(await dns.ask('web.shop.svc.cluster.local.'), 'NOERROR 10.96.0.5/30')
  })
})

describe('the other plugins', () => {
  test('hosts answers from a file and from its block, in both directions', async () => {
    const path = join(directory, 'hosts')
    writeFileSync(path, '127.0.0.1 localhost\n192.0.2.9 Router.test router # home\n')
    const dns = await DnsUnderTest.start(
      `. {\nhosts ${path} {\n192.0.2.8 inline.test\nfd00::8 inline.test\nttl 60\nfallthrough\n}\nforward . 10.0.0.1\n}`,
      { answering: world },
    )
    assert.equal(await dns.ask('ROUTER.test.'), 'NOERROR 192.0.2.9/60')
    assert.equal(await dns.ask('inline.test.', 'AAAA'), 'NOERROR fd00::8/60')
    assert.equal(await dns.ask('router.test.', 'AAAA'), 'NOERROR')
    assert.equal(await dns.ask('9.2.0.192.in-addr.arpa.', 'PTR'), 'NOERROR router.test./60 router./60')
    assert.equal(await dns.ask('other.test.'), 'NOERROR 192.0.2.1/100')
    for (const { parts } of dns.blocks) for (const part of parts) part.stop?.()
  })

  const rules: [rule: string, asked: string, sent: string][] = [
    ['name a.test b.test', 'a.test.', 'b.test.'],
    ['name exact a.test b.test', 'x.a.test.', 'x.a.test.'],
    ['name prefix old- new-', 'old-web.test.', 'new-web.test.'],
    ['name suffix .corp .test', 'web.corp.', 'web.test.'],
    ['name substring shop store', 'my.shop.test.', 'my.store.test.'],
    ['name regex (.*)\\.(.*)\\.corp {1}-{2}.test answer auto', 'a.b.corp.', 'a-b.test.'],
    ['continue name a.test b.test\nrewrite name b.test c.test', 'a.test.', 'c.test.'],
    ['stop name a.test b.test\nrewrite name b.test c.test', 'a.test.', 'b.test.'],
  ]
  for (const [rule, asked, sent] of rules) {
    test(`rewrite ${rule.replace('\n', ', ')}: ${asked} is asked for as ${sent}`, async () => {
      const dns = await DnsUnderTest.start(`. {\nrewrite ${rule}\nforward . 10.0.0.1\n}`, { answering: world })
      const request = { name: asked, asked, type: 1, class: 1, isRecursionDesired: true, isDnssecOk: false, isCheckingDisabled: false }
      const answering = dns.handle({ ...request, isAuthenticated: false, protocol: 'udp', from: { host: '127.0.0.1', port: 1 } })
      await dns.clock.advance(1)
      assert.deepEqual(
        (await answering).answers.map(({ name }) => name),
        [asked],
      )
      assert.deepEqual(dns.upstreams.asked, [`10.0.0.1:53 udp ${sent} 1`])
    })
  }

  test('rewrite type', async () => {
    const dns = await DnsUnderTest.start('. {\nrewrite type ANY A\nforward . 10.0.0.1\n}', { answering: world })
    assert.equal(await dns.ask('a.test.', 'ANY'), 'NOERROR 192.0.2.1/100')
  })

  test('loadbalance gives addresses in other orders, behind the names that lead to them', () => {
    const records: DnsRecord[] = [
      { name: 'a.', class: 1, ttlSeconds: 1, type: 'CNAME', target: 'b.' },
      ...['1', '2', '3', '4'].map((last) => address('b.', 1, `10.0.0.${last}`)),
    ]
    const random = seededRandom(1)
    const orders = new Set(
      Array.from({ length: 50 }, () =>
        shuffled(records, random)
          .map((record) => ('address' in record ? record.address.slice(-1) : 'c'))
          .join(''),
      ),
    )
    assert.ok(orders.size > 10)
    for (const order of orders) assert.match(order, /^c/)
    assert.equal(shuffled(records.slice(0, 2), random).length, 2)
  })

  test('loop finds out that its questions come back, and sends none on from then', async () => {
    const dns: DnsUnderTest = await DnsUnderTest.start('. {\nloop\nforward . 10.0.0.1\n}', {
      answering({ questions: [question] }) {
        // The server that is asked asks us.
        void dns.ask(question?.name ?? '', 'NAPTR')
        return undefined
      },
    })
    for (const { parts } of dns.blocks) for (const part of parts) part.start?.()
    await dns.clock.advance({ seconds: 1 })
    assert.match(dns.log.map(({ message }) => message).join(), /^Loop detected/)
    assert.equal(await dns.ask('a.test.'), 'SERVFAIL')
    for (const { parts } of dns.blocks) for (const part of parts) part.stop?.()
  })

  test('errors tells of some failures, and of very many how many there were', async () => {
    const dns = await DnsUnderTest.start('. {\nerrors\nforward . 10.0.0.1 {\nmax_concurrent 1\n}\n}')
    void dns.ask('waits.test.')
    const failing = () => dns.handle({ ...ownRequest('a.test.', 1), protocol: 'udp' })
    for (let index = 0; index < 1000; index++) await assert.rejects(async () => failing())
    assert.equal(dns.log.filter(({ message }) => message === 'failed to answer DNS query').length, 50)
    await dns.clock.advance({ seconds: 20 })
    await dns.ask('b.test.')
    assert.deepEqual(
      dns.log.filter(({ message }) => message === 'failed to answer more DNS queries').map(({ fields }) => fields?.['count']),
      // The first one was not answered either.
      [951],
    )
  })

  test('log tells of each question', async () => {
    const dns = await DnsUnderTest.start('. {\nlog\nforward . 10.0.0.1\n}', { answering: world })
    await dns.ask('no.test.')
    const { name, type, rcode } = dns.log[0]?.fields ?? {}
    assert.deepEqual([name, type, rcode], ['no.test.', 'A', 'NXDOMAIN'])
  })
})
