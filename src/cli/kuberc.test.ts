import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { checkCredentialPlugin } from '#cli/kuberc.ts'
import { fakeHost } from '#cli/testing/fake-host.ts'

const cases: { name: string; says: object; command?: string; refused?: RegExp }[] = [
  { name: 'nothing is said', says: {} },
  { name: 'all may be run', says: { credentialPluginPolicy: 'AllowAll' } },
  { name: 'none may be run', says: { credentialPluginPolicy: 'DenyAll' }, refused: /plugin "login" not allowed: policy set to "DenyAll"/ },
  { name: 'this one may be', says: { credentialPluginPolicy: 'Allowlist', credentialPluginAllowlist: [{ command: 'login' }] } },
  {
    name: 'one of this name may be, and it is the one that is found',
    says: { credentialPluginPolicy: 'Allowlist', credentialPluginAllowlist: [{ command: 'login' }] },
    command: 'DIR/login',
  },
  {
    name: 'one of this name elsewhere is not the one',
    says: { credentialPluginPolicy: 'Allowlist', credentialPluginAllowlist: [{ command: 'login' }] },
    command: '/elsewhere/login',
    refused: /plugin path "\/elsewhere\/login" is not permitted/,
  },
  {
    name: 'another may be',
    says: { credentialPluginPolicy: 'Allowlist', credentialPluginAllowlist: [{ command: 'other' }] },
    refused: /login" is not permitted by the credential plugin allowlist/,
  },
  { name: 'the policy is misspelt', says: { credentialPluginPolicy: 'denyall' }, refused: /unknown plugin policy: "denyall"/ },
  { name: 'the list is missing', says: { credentialPluginPolicy: 'Allowlist' }, refused: /allowlist is unspecified/ },
  {
    name: 'the list is empty',
    says: { credentialPluginPolicy: 'Allowlist', credentialPluginAllowlist: [] },
    refused: /allowlist is empty/,
  },
  {
    name: 'an entry is empty',
    says: { credentialPluginPolicy: 'Allowlist', credentialPluginAllowlist: [{ command: 'login' }, {}] },
    refused: /empty allowlist entry #2/,
  },
  {
    name: 'there is a list, and nobody asks for it',
    says: { credentialPluginAllowlist: [{ command: 'login' }] },
    refused: /plugin policy is "" but allowlist is non-nil/,
  },
]

describe('programs that give credentials, by the preferences of the user', () => {
  const directory = mkdtempSync(join(tmpdir(), 'kuberc '))
  const host = fakeHost({ homeDirectory: directory, answer: () => undefined, environment: { PATH: directory } })
  before(() => writeFileSync(join(directory, 'login'), ''))
  after(() => rmSync(directory, { recursive: true }))

  for (const { name, says, command = 'login', refused } of cases) {
    test(name, async () => {
      const path = join(directory, 'kuberc')
      writeFileSync(path, JSON.stringify({ apiVersion: 'kubectl.config.k8s.io/v1beta1', kind: 'Preference', ...says }))
      const checked = checkCredentialPlugin(command.replace('DIR', directory), [`--kuberc=${path}`], host)
      if (refused === undefined) await checked
      else await assert.rejects(checked, refused)
    })
  }
})
