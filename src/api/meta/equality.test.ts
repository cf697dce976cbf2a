import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CustomResourceDefinition } from '#api/apiextensions/v1/kinds.gen.ts'
import { HorizontalPodAutoscaler } from '#api/autoscaling/v2/kinds.gen.ts'
import { Lease } from '#api/coordination/v1/kinds.gen.ts'
import { ConfigMap, Event, Pod, ResourceQuota } from '#api/core/v1/kinds.gen.ts'
import { defineKind } from '#api/kind.ts'
import { PodDisruptionBudget } from '#api/policy/v1/kinds.gen.ts'
import { type Equality, equalityOf, plainEqual, sameObjectMeta } from './equality.ts'

type Case = [one: unknown, other: unknown, isEqual: boolean]

function validate(same: Equality<never> | ((one: unknown, other: unknown) => boolean), cases: Case[]): void {
  for (const [one, other, isEqual] of cases) {
    const message = `${JSON.stringify(one)} ${JSON.stringify(other)}`
    assert.equal((same as (one: unknown, other: unknown) => boolean)(one, other), isEqual, message)
    assert.equal((same as (one: unknown, other: unknown) => boolean)(other, one), isEqual, message)
  }
}

const spec = equalityOf(Pod).at('spec')
const container = spec.at('containers').each

test('absent and empty are the same for lists and maps, and for what is no pointer', () => {
  validate(container as Equality<never>, [
    [{ name: 'c' }, { name: 'c', env: [] }, true],
    [{ name: 'c' }, { name: 'c', env: null }, true],
    [{ name: 'c' }, { name: 'c', resources: {} }, true],
    [{ name: 'c', resources: { limits: {} } }, { name: 'c' }, true],
    [{ name: 'c' }, { name: 'c', image: '' }, true],
    [{ name: 'c' }, { name: 'c', tty: false }, true],
    [{ name: 'c', command: ['a', 'b'] }, { name: 'c', command: ['b', 'a'] }, false],
    [{ name: 'c', command: ['a'] }, { name: 'c', command: ['a', 'a'] }, false],
    [{ name: 'c' }, { name: 'c', securityContext: {} }, false],
    [{ name: 'c', securityContext: {} }, { name: 'c', securityContext: { privileged: false } }, false],
    [{ name: 'c', image: undefined }, { name: 'c' }, true],
  ])
  validate(spec as Equality<never>, [
    [{ nodeSelector: {} }, {}, true],
    [{ nodeSelector: {} }, { nodeSelector: { a: '' } }, false],
    [{ volumes: [{ name: 'v', emptyDir: {} }] }, { volumes: [{ name: 'v' }] }, false],
    [{ replicas: 0 }, {}, false],
    [{ activeDeadlineSeconds: 0 }, {}, false],
    [undefined, {}, true],
  ])
})

test('quantities compare by value wherever the type has them, and nowhere else', () => {
  validate(container as Equality<never>, [
    [{ resources: { limits: { cpu: '1000m' } } }, { resources: { limits: { cpu: '1' } } }, true],
    [{ resources: { limits: { memory: '1Gi' } } }, { resources: { limits: { memory: '1073741824' } } }, true],
    [{ resources: { limits: { cpu: '1' } } }, { resources: { limits: { cpu: '2' } } }, false],
    [{ resources: { limits: { cpu: 'x' } } }, { resources: { limits: { cpu: 'y' } } }, false],
    [{ resources: { limits: { cpu: '0' } } }, { resources: { limits: {} } }, false],
    [{ env: [{ name: 'A', value: '1000m' }] }, { env: [{ name: 'A', value: '1' }] }, false],
  ])
  validate(equalityOf(ConfigMap) as Equality<never>, [[{ data: { limits: '1000m' } }, { data: { limits: '1' } }, false]])
  validate(equalityOf(ResourceQuota).at('status') as Equality<never>, [[{ used: { pods: '1000m' } }, { used: { pods: '1' } }, true]])
  validate(equalityOf(HorizontalPodAutoscaler).at('spec').at('metrics').each as Equality<never>, [
    [{ pods: { target: { averageValue: '1k' } } }, { pods: { target: { averageValue: '1000' } } }, true],
  ])
  validate(spec.at('volumes').each as Equality<never>, [[{ emptyDir: { sizeLimit: '1024Mi' } }, { emptyDir: { sizeLimit: '1Gi' } }, true]])
})

test('times compare by the moment they name', () => {
  validate(equalityOf(Event) as Equality<never>, [
    [{ firstTimestamp: '2026-01-01T00:00:00Z' }, { firstTimestamp: '2026-01-01T01:00:00+01:00' }, true],
    [{ firstTimestamp: '2026-01-01T00:00:00Z' }, { firstTimestamp: '2026-01-01T00:00:01Z' }, false],
    [{ firstTimestamp: null }, {}, true],
  ])
  validate(equalityOf(Lease).at('spec') as Equality<never>, [
    [{ renewTime: '2026-01-01T00:00:00.000001Z' }, { renewTime: '2026-01-01T00:00:00.000002Z' }, false],
    [{ renewTime: '2026-01-01T00:00:00.000001Z' }, { renewTime: '2026-01-01T01:00:00.000001+01:00' }, true],
  ])
  validate(equalityOf(PodDisruptionBudget).at('status') as Equality<never>, [
    [{ disruptedPods: { a: '2026-01-01T00:00:00Z' } }, { disruptedPods: { a: '2026-01-01T01:00:00+01:00' } }, true],
    [{ disruptedPods: { a: '2026-01-01T00:00:00Z' } }, { disruptedPods: {} }, false],
  ])
  validate(sameObjectMeta as Equality<never>, [
    [{ annotations: { at: '2026-01-01T00:00:00Z' } }, { annotations: { at: '2026-01-01T01:00:00+01:00' } }, false],
  ])
})

test('a schema within the schema is compared as deep as it goes', () => {
  const props = equalityOf(CustomResourceDefinition).at('spec').at('versions').each.at('schema').at('openAPIV3Schema')
  const deep = (type: string, more = {}) => ({ properties: { a: { items: { type, ...more } } }, additionalProperties: { type } })
  validate(props as Equality<never>, [
    [deep('string'), deep('string', { enum: [] }), true],
    [deep('string'), deep('integer'), false],
    [{ additionalProperties: true }, { additionalProperties: {} }, false],
    [{ default: { limits: { cpu: '1000m' } } }, { default: { limits: { cpu: '1' } } }, false],
  ])
})

test('objects without a schema are the same only if their JSON is, whatever their fields are called', () => {
  const Widget = defineKind({ group: 'example.com', version: 'v1', kind: 'Widget', plural: 'widgets' })
  const widget = (part: object) => ({ spec: part })
  for (const same of [equalityOf(Widget) as Equality<never>, plainEqual]) {
    validate(same, [
      [widget({ limits: { cpu: '1000m' } }), widget({ limits: { cpu: '1' } }), false],
      [widget({ labels: {} }), widget({}), false],
      [widget({ list: [] }), widget({}), false],
      [widget({ at: '2026-01-01T00:00:00Z' }), widget({ at: '2026-01-01T01:00:00+01:00' }), false],
      [widget({ a: 1, b: [{}] }), widget({ b: [{}], a: 1 }), true],
      [null, undefined, true],
    ])
  }
})

test('a field that the type has not is an error, and does not compile', () => {
  // @ts-expect-error a pod has no such field
  const wrong = equalityOf(Pod).at('spek')
  assert.throws(() => wrong({} as never, { a: 1 } as never), /Pod has no field spek/)
})
