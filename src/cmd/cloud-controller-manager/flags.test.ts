import { test } from 'node:test'
import { cloudControllerManagerOptions, cloudFlagsWithoutEffect } from '#cmd/cloud-controller-manager/flags.ts'
import { assertUpstreamFlags } from '#cmd/testing/upstream-flags.ts'

test("every flag of upstream's is taken, and has its default where it has an effect", () => {
  assertUpstreamFlags('cloud-controller-manager', {
    options: cloudControllerManagerOptions,
    withoutEffect: cloudFlagsWithoutEffect,
    // Nothing is served to others unless asked for.
    otherwise: { 'bind-address': '127.0.0.1' },
  })
})
