import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recommendedResources } from '#api/autoscaling/vertical/recommended-resources.ts'
import { verticalAutoscalerOf } from '#api/autoscaling/vertical/vertical-autoscaler.ts'
import type { V1ResourceRequirements } from '#api/core/v1/types.gen.ts'

type Policy = NonNullable<NonNullable<Parameters<typeof verticalAutoscalerOf>[0]['spec']['resourcePolicy']>['containerPolicies']>[number]

function applied(
  resources: V1ResourceRequirements,
  policy: Policy = {},
  target: Record<string, string> = { cpu: '500m', memory: '300Mi' },
) {
  const autoscaler = verticalAutoscalerOf({
    metadata: { namespace: 'default', name: 'web' },
    spec: {
      targetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
      resourcePolicy: { containerPolicies: [{ containerName: '*', ...policy }] },
    },
    status: { recommendation: { containerRecommendations: [{ containerName: 'main', target }] } },
  })
  return recommendedResources(autoscaler, { name: 'main', image: 'a', resources })
}
const asked = { requests: { cpu: '100m', memory: '100Mi' }, limits: { cpu: '200m', memory: '100Mi' } }

for (const [title, given, policy, expected] of [
  ['limits keep their proportion', asked, {}, { requests: { cpu: '500m', memory: '300Mi' }, limits: { cpu: '1', memory: '300Mi' } }],
  ['without limits there are none', { requests: { cpu: '1' } }, {}, { requests: { cpu: '500m', memory: '300Mi' } }],
  [
    'a limit without a request is one',
    { limits: { cpu: '2' } },
    {},
    { requests: { cpu: '500m', memory: '300Mi' }, limits: { cpu: '500m' } },
  ],
  [
    'what the policy allows at least and at most',
    { requests: {} },
    { minAllowed: { cpu: '1' }, maxAllowed: { memory: '200Mi' } },
    { requests: { cpu: '1', memory: '200Mi' } },
  ],
  [
    'only what is controlled',
    { requests: { memory: '1Gi' } },
    { controlledResources: ['cpu'] },
    { requests: { cpu: '500m', memory: '1Gi' } },
  ],
  [
    'requests only, up to the limits',
    asked,
    { controlledValues: 'RequestsOnly' },
    { requests: { cpu: '200m', memory: '100Mi' }, limits: asked.limits },
  ],
  ['a container that is left alone', asked, { mode: 'Off' }, undefined],
] as [string, V1ResourceRequirements, Policy, V1ResourceRequirements | undefined][]) {
  test(`a recommendation is applied: ${title}`, () => assert.deepEqual(applied(given, policy), expected))
}
