import assert from 'node:assert/strict'
import { test } from 'node:test'
import { controllerManagerOptions, managerFlagsWithoutEffect } from '#cmd/controller-manager/flags.ts'
import { assertUpstreamFlags } from '#cmd/testing/upstream-flags.ts'
import { controllers } from '#controllers/controllers.ts'
import { selectControllers } from '#controllers/runtime/select-controllers.ts'

test("every flag of upstream's is taken, and has its default where it has an effect", () => {
  assertUpstreamFlags('kube-controller-manager', {
    options: controllerManagerOptions,
    withoutEffect: managerFlagsWithoutEffect,
    otherwise: {
      // Nothing is served to others unless asked for.
      'bind-address': '127.0.0.1',
      // Upstream's 0 is the default of one address family or the other.
      'node-cidr-mask-size-ipv4': undefined,
      'node-cidr-mask-size-ipv6': undefined,
    },
  })
})

test('controllers are chosen in upstream’s syntax', () => {
  const chosen = (...list: string[]) => selectControllers(controllers, list).map(({ alias }) => alias)
  assert.ok(chosen('*').includes('job') && !chosen('*').includes('tokencleaner'))
  assert.ok(chosen('*', 'tokencleaner').includes('tokencleaner'))
  assert.ok(!chosen('*', '-job').includes('job'))
  assert.ok(!chosen('*', '-job-controller').includes('job'))
  assert.deepEqual(chosen('endpoint', 'cronjob-controller'), ['endpoint', 'cronjob'])
  // Those that are not here yet may be named.
  assert.deepEqual(chosen('service', 'node-route-controller', 'job'), ['job'])
  assert.throws(() => chosen('nonsense'), /"nonsense" is not in the list of known controllers/)
})
