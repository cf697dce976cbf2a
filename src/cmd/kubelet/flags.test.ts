import { test } from 'node:test'
import { kubeletOptions } from '#cmd/kubelet/command.ts'
import { configurationFlags, kubeletFlagsWithoutEffect } from '#cmd/kubelet/configuration-flags.ts'
import { assertUpstreamFlags } from '#cmd/testing/upstream-flags.ts'

test("every flag of upstream's is taken, and has its default where it has one of its own", () => {
  assertUpstreamFlags('kubelet', {
    options: kubeletOptions,
    // The defaults of those that the configuration file can say are the file's.
    withoutEffect: { ...configurationFlags, ...kubeletFlagsWithoutEffect },
    ofCommand: ['config'],
    otherwise: {
      // Upstream's flags and its configuration file have different defaults: here those of the file hold for both.
      'anonymous-auth': undefined,
      'authentication-token-webhook': undefined,
      'authorization-mode': undefined,
      'read-only-port': undefined,
      'container-runtime-endpoint': undefined,
      'resolv-conf': undefined,
      // Said by its place in --root-dir.
      'cert-dir': undefined,
      // Upstream prints two quotes.
      'config-dir': '',
      // Upstream prints no default of a switch that takes a profile's name.
      'seccomp-default': undefined,
    },
  })
})
