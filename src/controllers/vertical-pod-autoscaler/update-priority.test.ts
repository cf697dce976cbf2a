import assert from 'node:assert/strict'
import { test } from 'node:test'
import { verticalAutoscalerOf } from '#api/autoscaling/vertical/vertical-autoscaler.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { formatTime } from '#api/meta/time.ts'
import { byPriority, updatePriority } from '#controllers/vertical-pod-autoscaler/update-priority.ts'

const nowMs = Date.UTC(2026, 0, 2)
const hourMs = 3_600_000

type Requirement = { resources: string[]; changeRequirement: 'TargetHigherThanRequests' | 'TargetLowerThanRequests' }

function autoscaler(target: string, bounds: [string, string], evictionRequirements: Requirement[] = []) {
  const [low, high] = bounds
  return verticalAutoscalerOf({
    metadata: { namespace: 'default', name: 'web' },
    spec: { targetRef: { kind: 'Deployment', name: 'web' }, updatePolicy: { evictionRequirements } },
    status: {
      recommendation: {
        containerRecommendations: [{ containerName: 'main', target: { cpu: target }, lowerBound: { cpu: low }, upperBound: { cpu: high } }],
      },
    },
  })
}
function pod(cpu: string, ageMs: number, oomAfterMs?: number): V1Pod {
  const finishedAt = formatTime(nowMs - hourMs)
  const terminated =
    oomAfterMs === undefined
      ? undefined
      : { exitCode: 137, reason: 'OOMKilled', startedAt: formatTime(nowMs - hourMs - oomAfterMs), finishedAt }
  const status = {
    name: 'main',
    ready: true,
    restartCount: 1,
    image: 'a',
    imageID: 'a',
    ...(terminated ? { lastState: { terminated } } : {}),
  }
  return {
    metadata: { name: 'web' },
    spec: { containers: [{ name: 'main', image: 'a', resources: { requests: { cpu } } }] },
    status: { startTime: formatTime(nowMs - ageMs), containerStatuses: [status] },
  }
}
const up: Requirement = { resources: ['cpu'], changeRequirement: 'TargetHigherThanRequests' }

for (const [title, given, recommended, expected] of [
  ['one below the lower bound goes at once', pod('100m', hourMs), autoscaler('300m', ['200m', '900m']), { isScaleUp: true, difference: 2 }],
  ['one above the upper bound too', pod('1', hourMs), autoscaler('500m', ['200m', '900m']), { isScaleUp: false, difference: 0.5 }],
  ['a young one within the bounds stays', pod('250m', hourMs), autoscaler('500m', ['200m', '900m']), undefined],
  ['an old one goes', pod('250m', 13 * hourMs), autoscaler('500m', ['200m', '900m']), { isScaleUp: true, difference: 1 }],
  ['an old one that differs little stays', pod('480m', 13 * hourMs), autoscaler('500m', ['200m', '900m']), undefined],
  [
    'one that ran out of memory quickly goes',
    pod('250m', hourMs, 60_000),
    autoscaler('500m', ['200m', '900m']),
    { isScaleUp: true, difference: 1 },
  ],
  ['one that did so late stays', pod('250m', hourMs, hourMs), autoscaler('500m', ['200m', '900m']), undefined],
  ['one that would get less stays where only more is wanted', pod('1', hourMs), autoscaler('500m', ['200m', '900m'], [up]), undefined],
] as const) {
  test(`a pod is changed or not: ${title}`, () => assert.deepEqual(updatePriority(given, recommended, nowMs), expected))
}

test('those that get more come first, then those that change most', () => {
  const list = [
    { isScaleUp: false, difference: 9 },
    { isScaleUp: true, difference: 1 },
    { isScaleUp: true, difference: 2 },
  ]
  assert.deepEqual(
    list.toSorted(byPriority).map(({ difference }) => difference),
    [2, 1, 9],
  )
})
