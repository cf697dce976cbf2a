import assert from 'node:assert/strict'
import { test } from 'node:test'
import { podPresetResource, type V1alpha1PodPreset } from '#api/settings/v1alpha1/pod-preset.ts'
import { tryCreate, tryUpdate } from '#api/testing/try-kind.ts'

const preset = (spec: V1alpha1PodPreset['spec']): V1alpha1PodPreset => ({ metadata: { name: 'a', namespace: 'n' }, spec })

test('presets are filled in and validated', () => {
  const cases: [V1alpha1PodPreset['spec'], string[]][] = [
    [{ env: [{ name: 'A', value: '1' }], volumes: [{ name: 'v' }], volumeMounts: [{ name: 'v', mountPath: '/v' }] }, []],
    [{}, ['spec.volumes.env.envFrom.volumeMounts: Required value: must specify at least one']],
    [{ volumeMounts: [{ name: 'v', mountPath: '/v' }] }, ['spec.volumeMounts[0].name: Not found: "v"']],
    [{ env: [{ name: '' }] }, ['spec.env[0].name: Required value']],
    [
      { env: [{ name: 'A' }], selector: { matchExpressions: [{ key: 'a', operator: 'In' }] } },
      ["spec.selector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'"],
    ],
  ]
  for (const [spec, errors] of cases) assert.deepEqual(tryCreate(podPresetResource, preset(spec)).errors, errors)
  assert.deepEqual(tryCreate(podPresetResource, preset({ volumes: [{ name: 'v' }] })).object.spec.volumes, [{ name: 'v', emptyDir: {} }])
})

test('a preset never changes', () => {
  const before = preset({ env: [{ name: 'A', value: '1' }] })
  assert.deepEqual(tryUpdate(podPresetResource, before, preset({ env: [{ name: 'A', value: '2' }] })).object.spec, before.spec)
})
