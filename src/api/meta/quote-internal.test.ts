import assert from 'node:assert/strict'
import { test } from 'node:test'
import { internalStructs } from '#api/meta/internal-structs.gen.ts'
import { asInternal } from '#api/meta/quote-internal.ts'

const cases: [string, unknown, string][] = [
  ['apps.DaemonSetUpdateStrategy', { type: 'Nope' }, '{"Type":"Nope","RollingUpdate":null}'],
  ['apps.RollingUpdateStatefulSetStrategy', { partition: 1 }, '{"Partition":1,"MaxUnavailable":null}'],
  ['meta.LabelSelector', {}, '{}'],
  [
    'meta.LabelSelector',
    { matchExpressions: [{ key: 'x', operator: 'Foo' }], matchLabels: { b: 'c', a: 'b' } },
    '{"matchLabels":{"a":"b","b":"c"},"matchExpressions":[{"key":"x","operator":"Foo"}]}',
  ],
  ['{s', undefined, 'null'],
  [
    'batch.PodFailurePolicy',
    { rules: [{ action: 'FailJob', onExitCodes: { operator: 'In', values: [1] } }] },
    '{"Rules":[{"Action":"FailJob","OnExitCodes":{"ContainerName":null,"Operator":"In","Values":[1]},"OnPodConditions":null}]}',
  ],
  [
    'resource.DeviceAttribute',
    { int: 1, bool: true },
    '{"IntValue":1,"BoolValue":true,"StringValue":null,"VersionValue":null,"IntValues":null,"BoolValues":null,"StringValues":null,"VersionValues":null}',
  ],
]

test('structs are quoted with Go names, all fields and null for what is unset', () => {
  for (const [struct, value, quoted] of cases) assert.equal(JSON.stringify(asInternal(struct, value)), quoted)
})

test('a pod template shows its metadata inline and the host fields in the security context', () => {
  const quoted = asInternal('core.PodTemplateSpec', {
    metadata: { labels: { app: 'a' } },
    spec: { hostPID: true, containers: [{ name: 'c' }] },
  })
  assert.deepEqual(Object.keys(quoted as object), ['labels', 'Spec'])
  const { SecurityContext, Containers, Volumes } = (quoted as { Spec: Record<string, unknown> }).Spec
  assert.equal((SecurityContext as { HostPID: boolean }).HostPID, true)
  assert.equal((Containers as unknown[]).length, 1)
  assert.equal(Volumes, null)
})

test('whatever lies in a struct is known as well', () => {
  const known = new Set(internalStructs.split('\n').map((line) => line.split(' ', 1)[0]))
  for (const [, type = ''] of internalStructs.matchAll(/:[*[{]*(\w+\.\w+)/g)) assert.ok(known.has(type), type)
})
