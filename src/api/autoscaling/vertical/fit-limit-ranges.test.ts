import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fitLimitRanges } from '#api/autoscaling/vertical/fit-limit-ranges.ts'
import { verticalAutoscalerOf } from '#api/autoscaling/vertical/vertical-autoscaler.ts'
import type { V1Container, V1LimitRange, V1LimitRangeItem, V1ResourceRequirements } from '#api/core/v1/types.gen.ts'

type Given = Record<string, { recommended?: Record<string, string>; has: V1ResourceRequirements }>

const range = (...limits: V1LimitRangeItem[]): V1LimitRange => ({ metadata: {}, spec: { limits } })

function targets(given: Given, ranges: V1LimitRange[]): Record<string, unknown> {
  const containerRecommendations = Object.entries(given).flatMap(([containerName, { recommended }]) =>
    recommended === undefined ? [] : [{ containerName, target: recommended, lowerBound: recommended, upperBound: recommended }],
  )
  const autoscaler = verticalAutoscalerOf({
    metadata: { namespace: 'default', name: 'web' },
    spec: { targetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' } },
    status: { recommendation: { containerRecommendations } },
  })
  const containers = Object.entries(given).map(([name, { has }]): V1Container => ({ name, image: 'i', resources: has }))
  return Object.fromEntries(
    fitLimitRanges(autoscaler, containers, ranges).recommendations.map(({ container, target }) => [container, target]),
  )
}

const half = { requests: { cpu: '1', memory: '100' }, limits: { cpu: '2', memory: '200' } }
const scenarios: readonly [title: string, given: Given, ranges: V1LimitRange[], expected: Record<string, unknown>][] = [
  ['without any nothing changes', { a: { recommended: { cpu: '9' }, has: half } }, [], { a: { cpu: '9' } }],
  [
    'a limit in proportion may not be above what a container may have',
    { a: { recommended: { cpu: '9', memory: '50' }, has: half } },
    [range({ type: 'Container', max: { cpu: '6' } })],
    { a: { cpu: '3', memory: '50' } },
  ],
  [
    'of several the strictest counts',
    { a: { recommended: { cpu: '9' }, has: half } },
    [range({ type: 'Container', max: { cpu: '6' } }), range({ type: 'Container', max: { cpu: '4' } })],
    { a: { cpu: '2' } },
  ],
  [
    'a request may not be below what a container must have',
    { a: { recommended: { cpu: '100m', memory: '10' }, has: half } },
    [range({ type: 'Container', min: { cpu: '500m', memory: '30' } })],
    { a: { cpu: '500m', memory: '30' } },
  ],
  [
    'a container without a limit has the default one',
    { a: { recommended: { cpu: '9' }, has: { requests: { cpu: '1' } } } },
    [range({ type: 'Container', max: { cpu: '6' }, default: { cpu: '3' } })],
    { a: { cpu: '2' } },
  ],
  [
    'a container without a limit, and without a default one, has no upper bound',
    { a: { recommended: { cpu: '9' }, has: { requests: { cpu: '1' } } } },
    [range({ type: 'Container', max: { cpu: '6' } })],
    { a: { cpu: '9' } },
  ],
  [
    'containers of a pod share what the pod may have',
    { a: { recommended: { cpu: '3' }, has: half }, b: { recommended: { cpu: '1' }, has: half } },
    [range({ type: 'Pod', max: { cpu: '4' } })],
    { a: { cpu: '1500m' }, b: { cpu: '500m' } },
  ],
  [
    'containers of a pod together have what it must have',
    { a: { recommended: { cpu: '300m' }, has: half }, b: { recommended: { cpu: '100m' }, has: half } },
    [range({ type: 'Pod', min: { cpu: '800m' } })],
    { a: { cpu: '600m' }, b: { cpu: '200m' } },
  ],
  [
    'a container that nothing is recommended for counts with what it has',
    { a: { recommended: { cpu: '3' }, has: half }, b: { has: { requests: { cpu: '1' }, limits: { cpu: '2' } } } },
    [range({ type: 'Pod', max: { cpu: '4' } })],
    { a: { cpu: '1500m' }, b: { cpu: '500m' } },
  ],
]

for (const [title, given, ranges, expected] of scenarios)
  test(`limit ranges bound recommendations: ${title}`, () => assert.deepEqual(targets(given, ranges), expected))
