import assert from 'node:assert/strict'
import { test } from 'node:test'
import { credentialsPolicyOf } from '#kubelet/images/credentials-policy.ts'

const policyOf = (imagePullCredentialsVerificationPolicy: string, preloadedImagesVerificationAllowlist: string[] = []) =>
  credentialsPolicyOf({ imagePullCredentialsVerificationPolicy, preloadedImagesVerificationAllowlist })

for (const [policy, preloaded, pulled] of [
  ['NeverVerify', false, false],
  ['NeverVerifyPreloadedImages', false, true],
  ['AlwaysVerify', true, true],
] as const) {
  test(`${policy}: credentials are ${preloaded ? '' : 'not '}shown for preloaded images, and ${pulled ? '' : 'not '}for pulled ones`, () => {
    assert.deepEqual([policyOf(policy)('a/b', false), policyOf(policy)('a/b', true)], [preloaded, pulled])
  })
}

test('images on the list need no credentials, whatever their tag, and all below a path with /*', () => {
  const mustShow = policyOf('NeverVerifyAllowlistedImages', ['reg.io/app', 'reg.io/team/*'])
  const digest = `sha256:${'0'.repeat(64)}`
  for (const image of ['reg.io/app', 'reg.io/app:1', `reg.io/app:1@${digest}`, 'reg.io/team/x/y:2'])
    assert.equal(mustShow(image, true), false)
  for (const image of ['reg.io/apps', 'reg.io/team', 'other.io/app']) assert.equal(mustShow(image, false), true)
})

for (const [patterns, message] of [
  [[' reg.io/app'], 'leading/trailing spaces are not allowed:  reg.io/app'],
  [['reg.io/*/app'], "not a valid wildcard pattern, only patterns ending with '/*' are allowed: reg.io/*/app"],
  [['reg.io/app:1'], 'neither tag nor digest is accepted in an image reference: reg.io/app:1'],
  [['/*'], 'at least registry hostname is required'],
] as const) {
  test(`the pattern ${patterns[0]} is refused`, () => {
    assert.throws(() => policyOf('NeverVerifyAllowlistedImages', [...patterns]), { message })
  })
}

test('a list without its policy, and a policy that nobody knows, are refused', () => {
  assert.throws(() => policyOf('AlwaysVerify', ['a']), /preloadedImagesVerificationAllowlist can only be set/)
  assert.throws(() => policyOf('Sometimes'), { message: 'unknown image pull credential verification policy: Sometimes' })
})
