import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ingressResource } from '#api/networking/v1/ingress.ts'
import { ingressClassResource } from '#api/networking/v1/ingress-class.ts'
import { ipAddressResource } from '#api/networking/v1/ip-address.ts'
import { networkPolicyResource } from '#api/networking/v1/network-policy.ts'
import { serviceCIDRResource } from '#api/networking/v1/service-cidr.ts'
import type {
  V1HTTPIngressPath,
  V1Ingress,
  V1IngressClass,
  V1IngressSpec,
  V1IPAddress,
  V1NetworkPolicy,
  V1NetworkPolicyPeer,
  V1NetworkPolicyPort,
  V1ServiceCIDR,
} from '#api/networking/v1/types.gen.ts'
import { tryCreate, tryRow, tryUpdate } from '#api/testing/try-kind.ts'

const metadata = { name: 'a', namespace: 'default', resourceVersion: '1' }
const service = { name: 's', port: { number: 80 } }
const everythingOn = { isEnabled: () => true }
const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
const dns1035 =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"

const ingress = (spec: V1IngressSpec): V1Ingress => ({ metadata, spec })
const withPath = (path: Partial<V1HTTPIngressPath>): V1IngressSpec => ({
  rules: [{ http: { paths: [{ path: '/', pathType: 'Prefix', backend: { service }, ...path }] } }],
})
const path = 'spec.rules[0].http.paths[0]'

test('ingresses are validated in the words clients know', () => {
  const cases: [string, V1IngressSpec, string[]][] = [
    ['a default backend is enough', { defaultBackend: { service } }, []],
    ['nothing', {}, ['spec: Invalid value: null: either `defaultBackend` or `rules` must be specified']],
    ['no rules', { rules: [] }, ['spec: Invalid value: []: either `defaultBackend` or `rules` must be specified']],
    ['an exact path', withPath({ pathType: 'Exact', path: '/x' }), []],
    ['no path type', withPath({ pathType: undefined as never }), [`${path}.pathType: Required value: pathType must be specified`]],
    [
      'an unknown path type',
      withPath({ pathType: 'Nope' }),
      [`${path}.pathType: Unsupported value: "Nope": supported values: "Exact", "ImplementationSpecific", "Prefix"`],
    ],
    ['a relative path', withPath({ path: 'x' }), [`${path}.path: Invalid value: "x": must be an absolute path`]],
    [
      'a path that climbs',
      withPath({ path: '/a//b/..' }),
      [`${path}.path: Invalid value: "/a//b/..": must not contain '//'`, `${path}.path: Invalid value: "/a//b/..": cannot end with '/..'`],
    ],
    ['an implementation may do without a path', withPath({ pathType: 'ImplementationSpecific', path: '' }), []],
    ['no backend', withPath({ backend: {} }), [`${path}.backend: Invalid value: "": resource or service backend is required`]],
    [
      'two backends',
      withPath({ backend: { service, resource: { kind: 'K', name: 'n' } } }),
      [`${path}.backend: Invalid value: "": cannot set both resource and service backends`],
    ],
    [
      'a backend without kind and name',
      withPath({ backend: { resource: { kind: '', name: '' } } }),
      [`${path}.backend.resource.kind: Required value`, `${path}.backend.resource.name: Required value`],
    ],
    [
      'a service without name and port',
      withPath({ backend: { service: { name: '' } } }),
      [`${path}.backend.service.name: Required value`, `${path}.backend: Required value: port name or number is required`],
    ],
    [
      'a port with name and number',
      withPath({ backend: { service: { name: 's', port: { name: 'http', number: 80 } } } }),
      [`${path}.backend: Invalid value: "": cannot set both port name & port number`],
    ],
    [
      'a port too high',
      withPath({ backend: { service: { name: 's', port: { number: 70_000 } } } }),
      [`${path}.backend.service.port.number: Invalid value: 70000: must be between 1 and 65535, inclusive`],
    ],
    ['no paths', { rules: [{ http: { paths: [] } }] }, ['spec.rules[0].http.paths: Required value']],
    [
      'an address for a host',
      { rules: [{ host: '1.2.3.4' }] },
      ['spec.rules[0].host: Invalid value: "1.2.3.4": must be a DNS name, not an IP address'],
    ],
    ['a wildcard', { rules: [{ host: '*.example.com' }], tls: [{ hosts: ['*.example.com'], secretName: 's' }] }, []],
    ['a bad secret', { rules: [{}], tls: [{ secretName: 'A' }] }, [`spec.tls[0].secretName: Invalid value: "A": ${subdomain}`]],
    ['a bad class', { rules: [{}], ingressClassName: 'A' }, [`spec.ingressClassName: Invalid value: "A": ${subdomain}`]],
  ]
  for (const [name, spec, errors] of cases) assert.deepEqual(tryCreate(ingressResource, ingress(spec)).errors, errors, name)
})

test('service names of ingresses may start with a digit once the gate is on, or an older one does', () => {
  const digit = ingress({ defaultBackend: { service: { ...service, name: '1s' } } })
  assert.deepEqual(tryCreate(ingressResource, digit).errors, [`spec.defaultBackend.service.name: Invalid value: "1s": ${dns1035}`])
  assert.deepEqual(tryCreate(ingressResource, digit, everythingOn).errors, [])
  assert.deepEqual(tryUpdate(ingressResource, digit, digit).errors, [])
})

test('the old class annotation is warned of, and must agree with the class', () => {
  const annotated = (spec: V1IngressSpec) => ({ metadata: { ...metadata, annotations: { 'kubernetes.io/ingress.class': 'x' } }, spec })
  assert.deepEqual(tryCreate(ingressResource, annotated({ rules: [{}] })).warnings, [
    'annotation "kubernetes.io/ingress.class" is deprecated, please use \'spec.ingressClassName\' instead',
  ])
  assert.deepEqual(tryCreate(ingressResource, annotated({ rules: [{}], ingressClassName: 'y' })).errors, [
    'annotations.kubernetes.io/ingress.class: Invalid value: "x": must match `ingressClassName` when both are specified',
  ])
})

test('the status of an ingress takes addresses and names, and keeps old bad addresses', () => {
  const prev = ingress({ rules: [{}] })
  const next = (list: { ip?: string; hostname?: string }[]) => ({ ...prev, status: { loadBalancer: { ingress: list } } })
  const status = { subresource: 'status', ...everythingOn }
  assert.deepEqual(tryUpdate(ingressResource, prev, next([{ ip: '1.2.3.4' }, { hostname: 'h.example.com' }]), status).errors, [])
  assert.deepEqual(tryUpdate(ingressResource, prev, next([{ ip: '01.2.3.4' }, { hostname: '1.2.3.4' }]), status).errors, [
    'status.loadBalancer.ingress[0].ip: Invalid value: "01.2.3.4": must not have leading 0s',
    'status.loadBalancer.ingress[1].hostname: Invalid value: "1.2.3.4": must be a DNS name, not an IP address',
  ])
  const kept = tryUpdate(ingressResource, next([{ ip: '01.2.3.4' }]), next([{ ip: '01.2.3.4' }]), status)
  assert.deepEqual(
    [kept.errors, kept.warnings],
    [[], ['status.loadBalancer.ingress[0]: non-standard IP address "01.2.3.4" is invalid: use "1.2.3.4"']],
  )
})

test('a row of an ingress shows three hosts and every address', () => {
  const hosts = ['a', 'b', 'c', 'd', 'e'].map((host) => ({ host }))
  const status = { loadBalancer: { ingress: [{ hostname: 'x.example.com' }, { ip: '1.1.1.1' }] } }
  assert.deepEqual(tryRow(ingressResource, { metadata, spec: { rules: hosts, tls: [{}], ingressClassName: 'nginx' }, status }), {
    Name: 'a',
    Class: 'nginx',
    Hosts: 'a,b,c + 2 more...',
    Address: '1.1.1.1,x.example.com',
    Ports: '80, 443',
    Age: '<unknown>',
  })
  const bare = tryRow(ingressResource, ingress({ rules: [{}] }))
  assert.deepEqual([bare['Class'], bare['Hosts'], bare['Address'], bare['Ports']], ['<none>', '*', '', '80'])
})

test('ingress classes need a controller under a domain, and parameters that say where they are', () => {
  const of = (spec: V1IngressClass['spec']): V1IngressClass => ({ metadata: { name: 'a' }, spec })
  const parameters = { kind: 'K', name: 'n' }
  const cases: [V1IngressClass['spec'], string[]][] = [
    [{ controller: 'example.com/c', parameters }, []],
    [{}, ['spec.controller: Required value']],
    [{ controller: 'nodomain' }, ['spec.controller: Invalid value: "nodomain": must be a domain-prefixed path (such as "acme.io/foo")']],
    [
      { controller: 'example.com/c', parameters: { ...parameters, scope: 'Namespace' } },
      ["spec.parameters.namespace: Required value: `parameters.scope` is set to 'Namespace'"],
    ],
    [
      { controller: 'example.com/c', parameters: { ...parameters, namespace: 'x' } },
      ["spec.parameters.namespace: Forbidden: `parameters.scope` is set to 'Cluster'"],
    ],
    [
      { controller: 'example.com/c', parameters: { ...parameters, scope: 'Moon' } },
      ['spec.parameters.scope: Unsupported value: "Moon": supported values: "Cluster", "Namespace"'],
    ],
  ]
  for (const [spec, errors] of cases) assert.deepEqual(tryCreate(ingressClassResource, of(spec)).errors, errors)
  const changed = tryUpdate(ingressClassResource, of({ controller: 'example.com/a' }), of({ controller: 'example.com/b' }))
  assert.deepEqual(changed.errors, ['spec.controller: Invalid value: "example.com/b": field is immutable'])
  const annotations = { 'ingressclass.kubernetes.io/is-default-class': 'true' }
  const row = tryRow(ingressClassResource, {
    metadata: { name: 'a', annotations },
    spec: { controller: 'e.com/c', parameters: { ...parameters, apiGroup: 'g' } },
  })
  assert.deepEqual([row['Name'], row['Parameters']], ['a (default)', 'K.g/n'])
})

const policy = (spec: V1NetworkPolicy['spec']): V1NetworkPolicy => ({ metadata, spec })
const withPort = (port: V1NetworkPolicyPort) => policy({ ingress: [{ ports: [port] }] })
const withPeer = (peer: V1NetworkPolicyPeer) => policy({ egress: [{ to: [peer] }] })

test('network policies are about ingress unless they have egress rules', () => {
  assert.deepEqual(tryCreate(networkPolicyResource, policy({})).object.spec.policyTypes, ['Ingress'])
  assert.deepEqual(tryCreate(networkPolicyResource, policy({ egress: [{}] })).object.spec.policyTypes, ['Ingress', 'Egress'])
  assert.equal(tryCreate(networkPolicyResource, withPort({ port: 80 })).object.spec.ingress?.[0]?.ports?.[0]?.protocol, 'TCP')
})

test('network policies are validated in the words clients know', () => {
  const ports = 'spec.ingress[0].ports[0]'
  const peers = 'spec.egress[0].to[0]'
  const cases: [string, V1NetworkPolicy, string[]][] = [
    ['everything', policy({}), []],
    ['a range of ports', withPort({ port: 80, endPort: 90 }), []],
    [
      'a range that ends early',
      withPort({ port: 80, endPort: 79 }),
      [`${ports}.endPort: Invalid value: 80: must be greater than or equal to \`port\``],
    ],
    [
      'an end without a start',
      withPort({ endPort: 1 }),
      [`${ports}.endPort: Invalid value: 1: may not be specified when \`port\` is not specified`],
    ],
    [
      'an end of a name',
      withPort({ port: 'http', endPort: 1 }),
      [`${ports}.endPort: Invalid value: 1: may not be specified when \`port\` is non-numeric`],
    ],
    ['a port of zero', withPort({ port: 0 }), [`${ports}.port: Invalid value: 0: must be between 1 and 65535, inclusive`]],
    ['a protocol', withPort({ protocol: 'X' }), [`${ports}.protocol: Unsupported value: "X": supported values: "TCP", "UDP", "SCTP"`]],
    ['nobody', withPeer({}), [`${peers}: Required value: must specify a peer`]],
    [
      'a block and a selector',
      withPeer({ ipBlock: { cidr: '10.0.0.0/8' }, podSelector: {} }),
      [`${peers}: Forbidden: may not specify both ipBlock and another peer`],
    ],
    ['both selectors', withPeer({ namespaceSelector: {}, podSelector: {} }), []],
    ['no range', withPeer({ ipBlock: { cidr: '' } }), [`${peers}.ipBlock.cidr: Required value`]],
    [
      'an exception outside',
      withPeer({ ipBlock: { cidr: '10.0.0.0/8', except: ['11.0.0.0/16', '10.1.0.0/16', '10.0.0.0/8'] } }),
      [
        `${peers}.ipBlock.except[0]: Invalid value: "11.0.0.0/16": must be a strict subset of \`cidr\``,
        `${peers}.ipBlock.except[2]: Invalid value: "10.0.0.0/8": must be a strict subset of \`cidr\``,
      ],
    ],
    ['a type', policy({ policyTypes: ['A'] }), ['spec.policyTypes[0]: Unsupported value: "A": supported values: "Ingress", "Egress"']],
    [
      'three types',
      policy({ policyTypes: ['Ingress', 'Egress', 'Ingress'] }),
      ['spec.policyTypes: Invalid value: ["Ingress","Egress","Ingress"]: may not specify more than two policyTypes'],
    ],
  ]
  for (const [name, object, errors] of cases) assert.deepEqual(tryCreate(networkPolicyResource, object, everythingOn).errors, errors, name)
})

test('a range that a stored policy already has may stay, wherever it moves', () => {
  const old = withPeer({ ipBlock: { cidr: '10.0.0.1/8' } })
  const moved = policy({ ingress: [{ from: [{ ipBlock: { cidr: '10.0.0.1/8' } }] }] })
  assert.deepEqual(tryCreate(networkPolicyResource, old, everythingOn).errors, [
    'spec.egress[0].to[0].ipBlock.cidr: Invalid value: "10.0.0.1/8": must not have bits set beyond the prefix length',
  ])
  const { errors, warnings } = tryUpdate(networkPolicyResource, old, moved, everythingOn)
  assert.deepEqual(errors, [])
  assert.deepEqual(warnings, [
    'spec.ingress[0].from[0].ipBlock.cidr: CIDR value "10.0.0.1/8" is ambiguous in this context (should be "10.0.0.0/8" or "10.0.0.1/32"?)',
  ])
})

test('an IPAddress is named by itself and belongs to somebody for ever', () => {
  const of = (name: string, parentRef?: V1IPAddress['spec']['parentRef']): V1IPAddress =>
    ({ metadata: { name }, spec: { parentRef } }) as V1IPAddress
  const parent = { group: '', resource: 'services', namespace: 'n', name: 's' }
  assert.deepEqual(tryCreate(ipAddressResource, of('10.0.0.1', parent)).errors, [])
  assert.deepEqual(tryCreate(ipAddressResource, of('10.0.0.1')).errors, ['spec.parentRef: Required value'])
  assert.deepEqual(tryCreate(ipAddressResource, of('fe80::0', parent)).errors, [
    'metadata.name: Invalid value: "fe80::0": must be in canonical form ("fe80::")',
  ])
  assert.deepEqual(tryCreate(ipAddressResource, of('10.0.0.1', { resource: '', name: '' })).errors, [
    'spec.parentRef.resource: Required value',
    'spec.parentRef.name: Required value',
  ])
  assert.deepEqual(
    tryUpdate(ipAddressResource, { ...of('10.0.0.1', parent) }, of('10.0.0.1', { ...parent, name: 't' })).errors.at(-1),
    ['spec.parentRef: Invalid value: {"Group":"","Resource":"services","Namespace":"n","Name":"t"}: field is immutable'][0],
  )
  assert.equal(tryRow(ipAddressResource, of('10.0.0.1', parent))['ParentRef'], 'services/n/s')
  assert.equal(tryRow(ipAddressResource, of('10.0.0.1', { ...parent, group: 'X.io' }))['ParentRef'], 'services.x.io/n/s')
})

test('a ServiceCIDR holds one range a family, and may only grow a second family', () => {
  const of = (...cidrs: string[]): V1ServiceCIDR => ({ metadata: { name: 'a' }, spec: { cidrs } })
  const cases: [V1ServiceCIDR, string[]][] = [
    [of('10.0.0.0/16', 'fd00::/64'), []],
    [of(), ['spec.cidrs: Required value: at least one CIDR required']],
    [
      of('10.0.0.0/16', 'fd00::/64', '10.1.0.0/16'),
      ['spec.cidrs: Invalid value: {"CIDRs":["10.0.0.0/16","fd00::/64","10.1.0.0/16"]}: may only hold up to 2 values'],
    ],
    [
      of('10.0.0.0/16', '10.1.0.0/16'),
      [
        'spec.cidrs: Invalid value: ["10.0.0.0/16","10.1.0.0/16"]: may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64',
      ],
    ],
    [of('10.0.0.0'), ['spec.cidrs[0]: Invalid value: "10.0.0.0": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)']],
  ]
  for (const [object, errors] of cases) assert.deepEqual(tryCreate(serviceCIDRResource, object).errors, errors)
  const updates: [V1ServiceCIDR, V1ServiceCIDR, string[]][] = [
    [of('10.0.0.0/16'), of('10.0.0.0/16', 'fd00::/64'), []],
    [of('10.0.0.0/16'), of('10.1.0.0/16'), ['spec.cidrs[0]: Invalid value: "10.1.0.0/16": field is immutable']],
    [of('10.0.0.0/16', 'fd00::/64'), of('10.0.0.0/16'), ['spec.cidrs: Invalid value: ["10.0.0.0/16"]: field is immutable']],
  ]
  for (const [prev, next, errors] of updates) assert.deepEqual(tryUpdate(serviceCIDRResource, prev, next).errors, errors)
})
