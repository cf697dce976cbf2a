import { test } from 'node:test'
import { schedulerFlagsWithoutEffect, schedulerOptions } from '#cmd/scheduler/command.ts'
import { assertUpstreamFlags } from '#cmd/testing/upstream-flags.ts'

test("every flag of upstream's is taken, and has its default where it has an effect", () => {
  assertUpstreamFlags('kube-scheduler', {
    options: schedulerOptions,
    withoutEffect: schedulerFlagsWithoutEffect,
    ofCommand: ['config'],
    otherwise: {
      // Nothing is served to others unless asked for.
      'bind-address': '127.0.0.1',
      // Writes are not throttled unless asked for.
      'kube-api-qps': undefined,
    },
  })
})
