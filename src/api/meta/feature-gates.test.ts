import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FeatureGates } from './feature-gates.ts'
import { compareGroups, groupPriority, versionPriority } from './group-priorities.ts'
import { servingFilter } from './runtime-config.ts'

test('gates stand where v1.36 has them', () => {
  const { isEnabled } = new FeatureGates()
  assert.equal(isEnabled('StrictIPCIDRValidation'), true)
  assert.equal(isEnabled('APIServerTracing'), true)
  assert.equal(isEnabled('CBORServingAndStorage'), false)
  assert.throws(() => isEnabled('Nope'), { message: 'feature "Nope" is not registered in FeatureGates' })
  assert.ok(new FeatureGates().entries().length > 200)
})

test('gates are moved by a flag', () => {
  const { isEnabled } = new FeatureGates('StrictIPCIDRValidation=false, CBORServingAndStorage=true')
  assert.equal(isEnabled('StrictIPCIDRValidation'), false)
  assert.equal(isEnabled('CBORServingAndStorage'), true)
  const alpha = new FeatureGates('AllAlpha=true,CBORServingAndStorage=false,AllBeta=f')
  assert.equal(alpha.isEnabled('CBORServingAndStorage'), false)
  assert.equal(alpha.isEnabled('StrictIPCIDRValidation'), false)
  assert.equal(alpha.isEnabled('APIServerTracing'), true)
})

test('a bad flag is refused in upstream words', () => {
  const cases: [string, string][] = [
    ['A', 'missing bool value for A'],
    ['A=yes', 'invalid value of A=yes, err: strconv.ParseBool: parsing "yes": invalid syntax'],
    ['A=true', 'unrecognized feature gate: A'],
    ['APIServerTracing=false', 'cannot set feature gate APIServerTracing to false, feature is locked to true'],
    ['wardle:A=true', 'component not registered: wardle'],
    ['kube:A=true', 'unrecognized feature gate: A'],
    ['A=true,B=true', '[unrecognized feature gate: A, unrecognized feature gate: B]'],
  ]
  for (const [text, message] of cases) assert.throws(() => new FeatureGates(text), { message }, text)
})

test('groups and versions have the priorities of upstream', () => {
  assert.equal(groupPriority(''), 18000)
  assert.equal(groupPriority('apps'), 17800)
  assert.equal(groupPriority('example.com'), 1000)
  assert.equal(versionPriority('autoscaling', 'v2'), 30)
  assert.equal(versionPriority('example.com', 'v1'), 100)
  assert.deepEqual(['resource.k8s.io', 'b.com', 'discovery.k8s.io', 'a.com', ''].sort(compareGroups), [
    '',
    'discovery.k8s.io',
    'resource.k8s.io',
    'a.com',
    'b.com',
  ])
})

test('versions are served by stability, gate and flag', () => {
  const ga = { group: 'apps', version: 'v1', plural: 'deployments' }
  const core = { group: '', version: 'v1', plural: 'pods' }
  const beta = { group: 'coordination.k8s.io', version: 'v1beta1', plural: 'leasecandidates', stability: 'beta' as const }
  const gated = { ...ga, featureGate: 'Gate' }
  const legacy = { group: 'apps', version: 'v1beta1', plural: 'deployments', stability: 'legacy' as const }
  const serves = (runtimeConfig: string, options: { gate?: boolean; legacyApis?: boolean } = {}) =>
    servingFilter({ isEnabled: () => options.gate ?? true, runtimeConfig, legacyApis: options.legacyApis ?? true })
  const cases: [ReturnType<typeof serves>, typeof ga, boolean][] = [
    [serves(''), ga, true],
    [serves(''), beta, false],
    [serves(''), legacy, true],
    [serves('', { legacyApis: false }), legacy, false],
    [serves('', { gate: false }), gated, false],
    [serves('api/all=true'), beta, true],
    [serves('api/all=false'), ga, false],
    [serves('api/all=false,apps/v1=true'), ga, true],
    [serves('api/beta=true'), beta, true],
    [serves('api/beta=true,api/all=false'), beta, true],
    [serves('coordination.k8s.io/v1beta1=true'), beta, true],
    [serves('coordination.k8s.io/v1beta1'), beta, true],
    [serves('coordination.k8s.io/v1beta1=true,coordination.k8s.io/v1beta1/leasecandidates=false'), beta, false],
    [serves('api/v1=false'), core, false],
    [serves('apps/v1beta1=false'), legacy, false],
  ]
  for (const [filter, definition, expected] of cases) assert.equal(filter(definition), expected, JSON.stringify(definition))
  assert.throws(() => serves('api/all=maybe'), { message: 'invalid value api/all=maybe' })
  assert.throws(() => serves('x=true'), { message: 'runtime-config invalid key x' })
  assert.throws(() => serves('a/b=maybe'), {
    message: 'invalid value of a/b: maybe, err: strconv.ParseBool: parsing "maybe": invalid syntax',
  })
})
