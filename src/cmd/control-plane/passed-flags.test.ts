import assert from 'node:assert/strict'
import { test } from 'node:test'
import { apiserverOptions } from '#cmd/apiserver/flags.ts'
import { passedFlags, withPassed } from '#cmd/control-plane/passed-flags.ts'
import { usualOptions } from '#cmd/control-plane/shared-options.ts'
import { schedulerOptions } from '#cmd/scheduler/command.ts'

const usual = usualOptions()

test('a component is told what differs from the usual, in the way that flags are written', () => {
  assert.deepEqual(passedFlags(usual, apiserverOptions, []).flags, [])
  const options = {
    ...usual,
    ...{ oidcIssuerUrl: 'https://issuer', oidcRequiredClaim: ['a=b'], anonymousAuth: false, requestTimeout: 90_000, apiAudiences: [] },
    ...{ authorizationMode: ['Node', 'RBAC', 'Webhook'], simNodes: 3, token: 'secret', logLevel: 'debug' },
  }
  assert.deepEqual(passedFlags(options, apiserverOptions, ['token']), {
    flags: [
      '--anonymous-auth=false',
      '--oidc-issuer-url=https://issuer',
      '--oidc-required-claim=a=b',
      '--authorization-mode=Node,RBAC,Webhook',
      '--request-timeout=90s',
      '--log-level=debug',
    ],
    reads: [],
    writes: [],
  })
  assert.deepEqual(passedFlags(options, schedulerOptions, []).flags, ['--log-level=debug'])
})

test('files and directories are shown to it where they are', () => {
  const files = {
    auditPolicyFile: '/etc/policy/audit.yaml',
    auditLogPath: '/var/log/audit.log',
    oidcCaFile: '/ca.crt',
    tokenAuthFile: 'tokens.csv',
  }
  const { flags, reads, writes } = passedFlags({ ...usual, ...files }, apiserverOptions, [])
  assert.deepEqual([...flags].sort(), [
    '--audit-log-path=/var/log/audit.log',
    '--audit-policy-file=/etc/policy/audit.yaml',
    '--oidc-ca-file=/ca.crt',
    `--token-auth-file=${process.cwd()}/tokens.csv`,
  ])
  assert.deepEqual([[...reads].sort(), writes], [['/ca.crt', '/etc/policy', process.cwd()].sort(), ['/var/log']])
  const printed = passedFlags({ ...usual, auditLogPath: '-' }, apiserverOptions, [])
  assert.deepEqual(printed, { flags: ['--audit-log-path=-'], reads: [], writes: [] })
})

test('what is passed takes the place of what the manifest says by itself', () => {
  const passed = { flags: ['--a=3', '--c=4'], reads: [], writes: [] }
  assert.deepEqual(withPassed(['--a=1', '--ab=2'], passed), ['--ab=2', '--a=3', '--c=4'])
})
