import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parsePolicy } from '#controllers/descheduler/policy.ts'

function policyText(plugins: Record<string, object>, evictor = {}): string {
  const configured = Object.entries(plugins).map(([name, args]) => ({ name, args }))
  const profiles = [{ name: 'test', pluginConfig: [{ name: 'DefaultEvictor', args: evictor }, ...configured], plugins: {} }]
  return JSON.stringify({ apiVersion: 'descheduler/v1alpha2', kind: 'DeschedulerPolicy', profiles })
}

test('what is wrong with a policy is named', () => {
  const problems: readonly [object, RegExp][] = [
    [{ NoSuch: {} }, /plugin NoSuch in pluginConfig not registered/],
    [{ PodLifeTime: {} }, /at least one filtering criterion must be specified/],
    [{ PodLifeTime: { states: ['Nonsense'] } }, /states must be one of \[Completed /],
    [
      { LowNodeUtilization: { thresholds: { cpu: 60 }, targetThresholds: { cpu: 50 } } },
      /thresholds' cpu percentage is greater than targetThresholds'/,
    ],
    [
      { LowNodeUtilization: { thresholds: { cpu: 60 }, targetThresholds: {} } },
      /targetThresholds config is not valid: no resource threshold/,
    ],
    [{ HighNodeUtilization: { thresholds: { cpu: 160 } } }, /cpu threshold not in \[0, 100\] range/],
    [{ RemovePodsHavingTooManyRestarts: {} }, /invalid PodsHavingTooManyRestarts threshold/],
    [{ RemovePodsViolatingNodeAffinity: {} }, /nodeAffinityType needs to be set/],
    [{ RemoveDuplicates: { namespaces: { include: ['a'], exclude: ['b'] } } }, /only one of Include\/Exclude namespaces can be set/],
  ]
  for (const [plugins, message] of problems) assert.throws(() => parsePolicy(policyText(plugins as Record<string, object>)), message)
  assert.throws(() => parsePolicy('kind: Other'), /expected descheduler\/v1alpha2, Kind=DeschedulerPolicy/)
  const evictor = { podProtections: { extraEnabled: ['Nonsense'] } }
  assert.throws(() => parsePolicy(policyText({}, evictor)), /invalid pod protection policy in ExtraEnabled: "Nonsense"/)
})
