/** Answers that are made of the question, and search paths that the server walks for its clients. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { V1Namespace, V1Pod } from '#api/core/v1/types.gen.ts'
import { DnsUnderTest } from '#dns/testing/dns-under-test.ts'
import type { Answering } from '#dns/testing/fake-upstream.ts'

describe('template', () => {
  test('answers by patterns, with parts of the name in the records', async () => {
    const dns = await DnsUnderTest.start(`. {
      template IN A example {
        match ^ip-(?P<a>[0-9]+)-(?P<b>[0-9]+)[.]example[.]$
        answer "{{ .Name }} 60 IN A 10.0.{{ .Group.a }}.{{ index .Match 2 }}"
        fallthrough
      }
      template IN ANY example {
        rcode NXDOMAIN
        authority "{{ .Zone }} 60 IN SOA ns.{{ .Zone }} me.{{ .Zone }} 1 60 60 60 60"
      }
    }`)
    assert.equal(await dns.ask('ip-3-4.example.'), 'NOERROR 10.0.3.4/60')
    assert.equal(await dns.ask('other.example.'), 'NXDOMAIN')
    assert.equal(await dns.ask('ip-3-4.example.', 'TXT'), 'NXDOMAIN')
  })

  test('a name in the zone that no pattern matches is a failure unless it may fall through', async () => {
    const dns = await DnsUnderTest.start(
      '. {\ntemplate IN A a.test {\nmatch ^x[.]\nanswer "{{ .Name }} A 10.0.0.1"\n}\nhosts {\n10.0.0.9 y.a.test y.b.test\n}\n}',
    )
    assert.equal(await dns.ask('x.a.test.'), 'NOERROR 10.0.0.1/3600')
    assert.equal(await dns.ask('y.a.test.'), 'SERVFAIL')
    assert.equal(await dns.ask('y.b.test.'), 'NOERROR 10.0.0.9/3600')
  })

  test('what is wrong is told by its line', async () => {
    const start = (text: string) => DnsUnderTest.start(`. {\n${text}\n}`)
    await assert.rejects(start('template IN NOTHING'), /line 2: template: NOTHING is not a valid type/)
    await assert.rejects(start('template IN A {\nmatch (\n}'), /line 3: template: \(/)
    await assert.rejects(start('template IN A {\nanswer "{{ if .Name }}"\n}'), /line 3: template: {{ if \.Name }} is not understood/)
  })
})

describe('autopath', () => {
  const outside: Answering = ({ questions: [question] }) =>
    question?.name === 'example.org.'
      ? { answers: [{ name: 'example.org.', class: 1, ttlSeconds: 100, type: 'A', address: '192.0.2.1' }] }
      : { rcode: 3 }
  const started = async () => {
    const corefile = '. {\nautopath cluster.local @kubernetes\nkubernetes cluster.local {\npods verified\n}\nforward . 10.0.0.1\n}'
    const dns = await DnsUnderTest.start(corefile, { answering: outside })
    for (const name of ['shop', 'db']) dns.names.setNamespace({ metadata: { name } } as V1Namespace)
    dns.names.setService({ metadata: { namespace: 'db', name: 'sql' }, spec: { clusterIP: '10.96.0.5', ports: [{ port: 1 }] } })
    const pod = { metadata: { namespace: 'shop', name: 'client' }, spec: { containers: [] }, status: { podIPs: [{ ip: '10.244.0.5' }] } }
    dns.names.setPod(pod as V1Pod)
    return dns
  }
  const client = { from: { host: '10.244.0.5', port: 1 } }

  test('the first question of a pod gets the answer of the last', async () => {
    const dns = await started()
    assert.equal(await dns.ask('example.org.shop.svc.cluster.local.', 'A', client), 'NOERROR example.org./100 192.0.2.1/100')
    assert.equal(await dns.ask('sql.db.shop.svc.cluster.local.', 'A', client), 'NOERROR sql.db.svc.cluster.local./5 10.96.0.5/5')
    assert.equal(await dns.ask('nobody.shop.svc.cluster.local.', 'A', client), 'NXDOMAIN')
  })

  test('others, and other questions, are answered as they are', async () => {
    const dns = await started()
    assert.equal(await dns.ask('example.org.shop.svc.cluster.local.'), 'NXDOMAIN', 'it is no pod')
    assert.equal(await dns.ask('example.org.db.svc.cluster.local.', 'A', client), 'NXDOMAIN', 'it searches elsewhere')
    assert.equal(await dns.ask('sql.db.svc.cluster.local.', 'A', client), 'NOERROR 10.96.0.5/5')
  })
})
