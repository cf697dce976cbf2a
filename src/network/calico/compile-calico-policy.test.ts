import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileCalicoPolicy, compileGlobalPolicy } from '#network/calico/compile-calico-policy.ts'
import type { CalicoNetworkPolicy } from '#network/calico/definitions.ts'
import { type CompiledPolicy, compilePolicy } from '#network/policy/compiled-policy.ts'
import { evaluateConnection, type Party } from '#network/policy/evaluate.ts'
import { policyPodOf } from '#network/policy/policy-pod.ts'
import { policyRules } from '#network/policy/policy-rules.ts'

const aPod = (name: string, ip: string, namespace = 'default'): Party => {
  const pod = policyPodOf(
    {
      metadata: { name, namespace, labels: { app: name } },
      spec: { serviceAccountName: `${name}-account`, containers: [{ name: 'c', ports: [{ name: 'http', containerPort: 8080 }] }] },
      status: { podIPs: [{ ip }] },
    },
    { team: name === 'web' ? 'front' : 'back' },
  )
  assert.ok(pod)
  return { ip, pod }
}
const [web, db, far] = [aPod('web', '10.1.0.1'), aPod('db', '10.1.0.2'), aPod('web', '10.1.0.3', 'shop')]
const labelsOf = (name: string) => ({ 'kubernetes.io/metadata.name': name })
const endpoints = [{ ip: '10.1.0.2', protocol: 'TCP', port: 8080 }]
const endpointsOf = (service: string) => (service === 'default/db' ? endpoints : [])
const ask = (policies: CompiledPolicy[], from: Party, to: Party, port = 8080, protocol = 'TCP') =>
  evaluateConnection({ policies, labelsOf, endpointsOf }, { from, to, protocol, port })
const own = (spec: CalicoNetworkPolicy['spec'], name = 'p') => compileCalicoPolicy({ metadata: { namespace: 'default', name }, spec })
const global = (spec: CalicoNetworkPolicy['spec'] & { namespaceSelector?: string }) =>
  compileGlobalPolicy({ metadata: { name: 'g' }, spec })

test('the first rule that matches decides, of policies in their order; what none matches is denied', () => {
  const allow = own({ selector: "app == 'db'", order: 20, ingress: [{ action: 'Allow', source: { selector: "app == 'web'" } }] })
  assert.equal(ask([allow], web, db).isAllowed, true)
  assert.equal(ask([allow], far, db).isAllowed, false, 'a selector of a policy in a namespace means that namespace')
  const deny = global({ order: 10, selector: 'all()', ingress: [{ action: 'Deny', protocol: 'TCP', destination: { ports: [8080] } }] })
  const verdict = ask([allow, deny], web, db)
  assert.equal(verdict.ingress.why, 'NetworkPolicy GlobalNetworkPolicy/g denies it: spec.ingress[0]')
  assert.equal(ask([allow, deny], web, db, 9090).isAllowed, true)
  const kubernetes = compilePolicy({ metadata: { namespace: 'default', name: 'k' }, spec: { podSelector: {}, ingress: [{}] } })
  assert.equal(ask([kubernetes, own({ selector: 'all()', order: 2000, ingress: [{ action: 'Deny' }] })], web, db).isAllowed, true)
  assert.equal(ask([kubernetes, own({ selector: 'all()', order: 900, ingress: [{ action: 'Deny' }] })], web, db).isAllowed, false)
})

test('policies of the whole cluster apply by namespaces, and mean pods everywhere', () => {
  const policy = global({ namespaceSelector: "projectcalico.org/name == 'shop'", types: ['Ingress'], ingress: [] })
  assert.equal(ask([policy], web, far).isAllowed, false)
  assert.equal(ask([policy], far, web).isAllowed, true)
  const everywhere = global({ selector: "app == 'db'", ingress: [{ action: 'Allow', source: { selector: "app == 'web'" } }] })
  assert.equal(ask([everywhere], far, db).isAllowed, true)
  const elsewhere = own({
    selector: "app == 'db'",
    ingress: [{ action: 'Allow', source: { namespaceSelector: "projectcalico.org/name == 'shop'" } }],
  })
  assert.equal(ask([elsewhere], far, db).isAllowed, true)
  assert.equal(ask([elsewhere], web, db).isAllowed, false)
})

test('ports by number, range and name, networks and what is excepted', () => {
  const at = (rule: object) => [own({ selector: "app == 'db'", ingress: [{ action: 'Allow', ...rule }] })]
  assert.equal(ask(at({ protocol: 'TCP', destination: { ports: ['8000:8090'] } }), web, db).isAllowed, true)
  assert.equal(ask(at({ protocol: 'TCP', destination: { ports: ['http'] } }), web, db).isAllowed, true)
  assert.equal(ask(at({ protocol: 'TCP', destination: { notPorts: [8080] } }), web, db).isAllowed, false)
  assert.equal(ask(at({ notProtocol: 'TCP' }), web, db).isAllowed, false)
  assert.equal(ask(at({ source: { nets: ['10.0.0.0/8'], notNets: ['10.1.0.1/32'] } }), web, db).isAllowed, false)
  assert.equal(ask(at({ source: { nets: ['10.1.0.1'] } }), web, db).isAllowed, true)
})

test('what is not understood makes a rule stricter: one that allows matches nothing, one that denies goes without', () => {
  const odd = { http: { methods: ['GET'] } }
  const allow = own({ selector: 'all()', ingress: [{ action: 'Allow', ...odd }] })
  assert.equal(ask([allow], web, db).isAllowed, false)
  const deny = own({ selector: 'all()', ingress: [{ action: 'Deny', ...odd }, { action: 'Allow' }] })
  assert.equal(ask([deny], web, db).isAllowed, false)
  assert.equal(ask([own({ selector: 'app ==', ingress: [] })], web, db).isAllowed, true, 'a selector that cannot be read selects nothing')
})

test('rules by service accounts, by their names and by their labels', () => {
  const from = (serviceAccounts: object, more: object = {}) => [
    own({ selector: "app == 'db'", ingress: [{ action: 'Allow', source: { serviceAccounts, ...more } }] }),
  ]
  assert.equal(ask(from({ names: ['web-account'] }), web, db).isAllowed, true)
  assert.equal(ask(from({ names: ['web-account'] }), far, db).isAllowed, false, 'accounts of the own namespace are meant')
  assert.equal(ask(from({ names: ['web-account'] }, { namespaceSelector: 'all()' }), far, db).isAllowed, true)
  assert.equal(ask(from({ names: ['other'] }), web, db).isAllowed, false)
  assert.equal(ask(from({ selector: "team == 'front'" }), web, db).isAllowed, true)
  assert.equal(ask(from({ names: ['web-account'], selector: "team == 'back'" }), web, db).isAllowed, false)
  const whole = global({ serviceAccountSelector: "team == 'back'", types: ['Ingress'], ingress: [] })
  assert.equal(ask([whole], web, db).isAllowed, false)
  assert.equal(ask([whole], db, web).isAllowed, true)
})

test('rules by services mean their endpoints, with their ports where a connection leads there', () => {
  const to = (services: { name: string; namespace?: string }) => [
    own({ selector: "app == 'web'", egress: [{ action: 'Allow', destination: { services } }] }),
  ]
  assert.equal(ask(to({ name: 'db' }), web, db).isAllowed, true)
  assert.equal(ask(to({ name: 'db' }), web, db, 9090).isAllowed, false)
  assert.equal(ask(to({ name: 'db', namespace: 'shop' }), web, db).isAllowed, false)
  const source = own({ selector: "app == 'web'", ingress: [{ action: 'Allow', source: { services: { name: 'db' } } }] })
  assert.equal(ask([source], db, web, 9090).isAllowed, true)
  assert.equal(ask([source], far, web, 9090).isAllowed, false)
  const nowhere = global({ selector: 'all()', ingress: [{ action: 'Allow', source: { services: { name: 'db' } } }] })
  assert.equal(ask([nowhere], db, web).isAllowed, false, 'a policy of the whole cluster must say whose service it means')
})

test('policies for the links of hosts say nothing of pods, and rules of ICMP nothing of connections', () => {
  assert.equal(
    ask([compileGlobalPolicy({ metadata: { name: 'h' }, spec: { preDNAT: true, selector: 'all()', ingress: [] } })], web, db).isAllowed,
    true,
  )
  const ping = own({ selector: 'all()', ingress: [{ action: 'Deny', protocol: 'ICMP', icmp: { type: 8 } }, { action: 'Allow' }] })
  assert.equal(ask([ping], web, db).isAllowed, true)
  assert.deepEqual(ping.ingress?.[0] && 'icmp' in ping.ingress[0] ? ping.ingress[0].icmp : undefined, { type: 8 })
})

test('what would be no rule of nft makes a rule stricter, and never reaches nft', () => {
  const text = (rule: object) => {
    const policy = own({ selector: 'all()', ingress: [rule as never] })
    const { chains, elements } = policyRules({ policy, direction: 'ingress', allows: 'accept', pods: () => [] })
    return [...chains.values()].flat().join('\n') + [...elements.values()].flatMap((set) => [...set.keys()]).join('\n')
  }
  const odd: object[] = [
    { protocol: 'tcp accept\nflush ruleset\n#' },
    { protocol: 'foo' },
    { protocol: 256 },
    { notProtocol: 'tcp; flush ruleset' },
    { protocol: 'TCP', destination: { ports: [99_999] } },
    { protocol: 'TCP', destination: { ports: ['8080:80'] } },
    { protocol: 'TCP', source: { ports: ['1', '70000'] } },
    { source: { nets: ['1.2.3.4/99'] } },
    { source: { nets: ['abc'] } },
    { source: { nets: ['::::/64'] } },
    { source: { nets: ['10.0.0.0/8', 'fe80::/200'] } },
    { source: { selector: 'app ==' } },
    { source: { serviceAccounts: { selector: '((' } } },
  ]
  for (const rule of odd) {
    assert.equal(text({ action: 'Allow', ...rule }), '', JSON.stringify(rule))
    const denied = text({ action: 'Deny', ...rule })
    assert.match(denied, /^meta nfproto ipv4 (meta l4proto tcp )?drop$/m, `${JSON.stringify(rule)} denies more, not less: ${denied}`)
    assert.doesNotMatch(denied, /flush|99999|8080|foo/)
  }
  assert.match(text({ action: 'Allow', protocol: 'ICMPv6' }), /meta l4proto ipv6-icmp accept/)
  assert.match(text({ action: 'Allow', notProtocol: 47 }), /meta l4proto != 47 accept/)
  assert.match(text({ action: 'Deny', source: { nets: ['10.0.0.1/8', '010.0.0.1'] } }), /10\.0\.0\.0-10\.255\.255\.255/)
})

test('a selector that is longer than anybody writes is not read', () => {
  const long = Array.from({ length: 10_000 }, (_, index) => `has(a${index})`).join(' || ')
  assert.equal(own({ selector: long, ingress: [] }).selects.matches({ a9999: '' }), false)
  assert.equal(own({ selector: long.slice(0, 60_000).replace(/ \|\|[^|]*$/, ''), ingress: [] }).selects.matches({ a1: '' }), true)
})
