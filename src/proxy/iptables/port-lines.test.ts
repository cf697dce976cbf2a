import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Service } from '#api/core/v1/types.gen.ts'
import type { V1EndpointSlice } from '#api/discovery/v1/types.gen.ts'
import { chainNames } from '#proxy/iptables/chain-names.ts'
import { portLines } from '#proxy/iptables/port-lines.ts'
import { restoreText } from '#proxy/iptables/restore-text.ts'
import { defaultRuleSettings } from '#proxy/rules/rule-settings.ts'
import { ServiceTable } from '#proxy/service-table/service-table.ts'

const settings = { ...defaultRuleSettings, podTraffic: { kind: 'cidr' as const, cidrs: ['10.0.0.0/8'] } }

function linesOf(spec: NonNullable<V1Service['spec']>, addresses: string[]) {
  const table = new ServiceTable({ name: 'n1', zone: '' })
  table.setService({
    metadata: { namespace: 'ns1', name: 'svc1' },
    spec: { clusterIP: '172.30.0.41', clusterIPs: ['172.30.0.41'], ports: [{ name: 'p80', port: 80, protocol: 'TCP' }], ...spec },
  })
  const slice: V1EndpointSlice = {
    metadata: { namespace: 'ns1', name: 'svc1-1', labels: { 'kubernetes.io/service-name': 'svc1' } },
    ...{ addressType: 'IPv4', ports: [{ name: 'p80', port: 80, protocol: 'TCP' }] },
    endpoints: addresses.map((address) => ({ addresses: [address], nodeName: 'n2' })),
  }
  table.setSlice(slice)
  const [plan] = table.plansOf('ns1/svc1').plans
  assert.ok(plan)
  return portLines(plan, settings, chainNames())
}

test('chains have the names that upstream gives them', () => {
  const { chains } = linesOf({}, ['10.180.0.1'])
  assert.deepEqual([...chains.keys()], ['KUBE-SVC-XPGD46QRK7WJZT7O', 'KUBE-SEP-SXIVWICOYRO3J4NJ'])
})

test('endpoints are chosen with equal chances', () => {
  const rules = linesOf({}, ['10.180.0.1', '10.180.0.2', '10.180.0.3']).chains.get('KUBE-SVC-XPGD46QRK7WJZT7O') ?? []
  assert.deepEqual(
    rules.map((rule) => /--probability (\S+)/.exec(rule)?.[1]),
    [undefined, '0.3333333333', '0.5000000000', undefined],
  )
  assert.match(rules[0] ?? '', /! -s 10.0.0.0\/8 -j KUBE-MARK-MASQ$/)
})

test('node ports come last, behind everything else, on addresses of this machine', () => {
  const lines = linesOf({ type: 'NodePort', ports: [{ name: 'p80', port: 80, nodePort: 3001 }] }, ['10.180.0.1'])
  const text = restoreText({ family: 'IPv4', settings, names: chainNames(), ports: [lines], written: [lines], stale: ['KUBE-SVC-OLD'] })
  const services = text.split('\n').filter((line) => line.startsWith('-A KUBE-SERVICES'))
  assert.match(services.at(-1) ?? '', /--dst-type LOCAL -j KUBE-NODEPORTS$/)
  assert.match(text, /-A KUBE-NODEPORTS .* --dport 3001 -j KUBE-EXT-XPGD46QRK7WJZT7O/)
  assert.match(text, /-A KUBE-MARK-MASQ -j MARK --or-mark 0x4000/)
  assert.match(text, /-A KUBE-POSTROUTING -m mark ! --mark 0x4000\/0x4000 -j RETURN/)
  assert.match(text, /:KUBE-SVC-OLD - \[0:0\]\n.*-X KUBE-SVC-OLD\n/s)
})

test('a service without endpoints is refused in the table filter', () => {
  const lines = linesOf({}, [])
  assert.deepEqual(lines.nat.services, [])
  assert.deepEqual(lines.filter.services, [
    '-m comment --comment "ns1/svc1:p80 has no endpoints" -m tcp -p tcp -d 172.30.0.41 --dport 80 -j REJECT',
  ])
})

test('another cluster on the machine has other names, none too long', () => {
  const names = chainNames('K1234ab')
  assert.equal(names.services, 'K1234ab-SERVICES')
  const port = { name: 'ns1/svc1:p80', protocol: 'TCP' as const }
  assert.equal(names.service(port as never).length, 28)
})
