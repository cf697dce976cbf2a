import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1NetworkPolicy } from '#api/networking/v1/types.gen.ts'
import { compilePolicy } from '#network/policy/compiled-policy.ts'
import { evaluateConnection, type Party } from '#network/policy/evaluate.ts'
import { policyPodOf } from '#network/policy/policy-pod.ts'

const aPod = (name: string, labels: Record<string, string>, ip: string, namespace = 'default'): Party => {
  const pod = policyPodOf({
    metadata: { name, namespace, labels },
    spec: { containers: [{ name: 'c', ports: [{ name: 'http', containerPort: 8080 }] }] },
    status: { podIPs: [{ ip }] },
  })
  assert.ok(pod)
  return { ip, pod }
}
const web = aPod('web', { app: 'web' }, '10.1.0.1')
const db = aPod('db', { app: 'db' }, '10.1.0.2')
const other = aPod('other', { app: 'web' }, '10.1.0.3', 'elsewhere')
const outside: Party = { ip: '192.0.2.7' }
const labels: Record<string, Record<string, string>> = { elsewhere: { team: 'red' } }

function validate(specs: V1NetworkPolicy['spec'][], from: Party, to: Party, port = 8080, protocol = 'TCP') {
  const policies = specs.map((spec, index) => compilePolicy({ metadata: { namespace: 'default', name: `p${index}` }, spec }))
  return evaluateConnection({ policies, labelsOf: (name) => labels[name] ?? {} }, { from, to, protocol, port })
}

test('without a policy everything goes; with one that selects a pod, what no rule allows does not', () => {
  assert.equal(validate([], web, db).isAllowed, true)
  const verdict = validate([{ podSelector: { matchLabels: { app: 'db' } } }], web, db)
  assert.equal(verdict.isAllowed, false)
  assert.equal(verdict.ingress.why, 'pod default/db is isolated for ingress by NetworkPolicy default/p0, and no rule allows it')
  assert.equal(verdict.egress.why, 'no NetworkPolicy selects pod default/web for egress')
  assert.equal(validate([{ podSelector: { matchLabels: { app: 'db' } } }], db, web).isAllowed, true, 'the other way is open')
})

test('the rule that allows is named', () => {
  const spec = { podSelector: {}, ingress: [{ ports: [{ port: 1 }] }, { from: [{ podSelector: { matchLabels: { app: 'web' } } }] }] }
  assert.deepEqual(validate([{ podSelector: {} }, spec], web, db).ingress.allowedBy, { policy: 'default/p1', rule: 1 })
})

test('a selector of pods means the own namespace, one of namespaces all pods in those, both the pods in those', () => {
  const from = (peer: object) => [{ podSelector: { matchLabels: { app: 'db' } }, ingress: [{ from: [peer] }] }]
  const isWeb = { matchLabels: { app: 'web' } }
  const isRed = { matchLabels: { team: 'red' } }
  assert.equal(validate(from({ podSelector: isWeb }), other, db).isAllowed, false)
  assert.equal(validate(from({ namespaceSelector: isRed }), other, db).isAllowed, true)
  assert.equal(validate(from({ namespaceSelector: isRed }), web, db).isAllowed, false)
  assert.equal(validate(from({ namespaceSelector: isRed, podSelector: { matchLabels: { app: 'x' } } }), other, db).isAllowed, false)
})

test('blocks of addresses with exceptions', () => {
  const specs = [{ podSelector: {}, ingress: [{ from: [{ ipBlock: { cidr: '192.0.2.0/24', except: ['192.0.2.0/29'] } }] }] }]
  assert.equal(validate(specs, outside, db).isAllowed, false)
  assert.equal(validate(specs, { ip: '192.0.2.8' }, db).isAllowed, true)
  assert.equal(validate(specs, { ip: '2001:db8::1' }, db).isAllowed, false)
})

test('ports by number, range and name, for their protocol', () => {
  const at = (port: object) => [{ podSelector: {}, ingress: [{ ports: [port] }] }]
  assert.equal(validate(at({ port: 8080 }), web, db).isAllowed, true)
  assert.equal(validate(at({ port: 8080, protocol: 'UDP' }), web, db).isAllowed, false)
  assert.equal(validate(at({ port: 8080, protocol: 'SCTP' }), web, db, 8080, 'SCTP').isAllowed, true)
  assert.equal(validate(at({ port: 8000, endPort: 8080 }), web, db).isAllowed, true)
  assert.equal(validate(at({ port: 8000, endPort: 8079 }), web, db).isAllowed, false)
  assert.equal(validate(at({ port: 'http' }), web, db).isAllowed, true)
  assert.equal(validate(at({ port: 'http' }), web, db, 80).isAllowed, false)
  assert.equal(validate(at({ protocol: 'UDP' }), web, db, 53, 'UDP').isAllowed, true)
})

test('both ends must allow, and egress isolates only where it is said', () => {
  const egress = {
    podSelector: { matchLabels: { app: 'web' } },
    policyTypes: ['Egress'],
    egress: [{ to: [{ ipBlock: { cidr: '10.1.0.2/32' } }] }],
  }
  assert.equal(validate([egress], web, db).isAllowed, true)
  assert.equal(validate([egress], web, outside).isAllowed, false)
  assert.equal(validate([egress], outside, web).isAllowed, true)
  assert.equal(validate([egress, { podSelector: { matchLabels: { app: 'db' } } }], web, db).isAllowed, false)
})

test('a pod reaches itself, and its own node reaches it', () => {
  const closed = { podSelector: {}, policyTypes: ['Ingress', 'Egress'] }
  assert.equal(validate([closed], db, db).isAllowed, true)
  assert.equal(validate([closed], { ip: '10.1.0.254', isNode: true }, db).isAllowed, true)
})

test('pods in the network of their node and pods that have ended are none of ours', () => {
  const spec = { containers: [] }
  assert.equal(policyPodOf({ metadata: { name: 'a' }, spec: { ...spec, hostNetwork: true } }), undefined)
  assert.equal(policyPodOf({ metadata: { name: 'a' }, spec, status: { phase: 'Succeeded' } }), undefined)
})
