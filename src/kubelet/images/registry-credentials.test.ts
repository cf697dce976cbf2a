import assert from 'node:assert/strict'
import { test } from 'node:test'
import { credentialsFor, entriesOfDockerConfig, entriesOfSecret } from '#kubelet/images/registry-credentials.ts'

const cases: [place: string, repository: string, isGood: boolean][] = [
  ['quay.io', 'quay.io/team/app', true],
  ['quay.io', 'docker.io/library/app', false],
  ['quay.io/team', 'quay.io/team/app', true],
  ['quay.io/team', 'quay.io/other/app', false],
  ['*.example.com', 'reg.example.com/app', true],
  ['*.example.com', 'example.com/app', false],
  ['r?g.*.c*m', 'reg.example.com/app', true],
  ['*e*e*', 'e.com/app', false],
  // Trying all ways to share the letters among the stars would take years.
  [`${'*a'.repeat(40)}*b.com`, `${'a'.repeat(200)}.com/app`, false],
  ['localhost:5000', 'localhost:5000/app', true],
  ['localhost', 'localhost:5000/app', false],
  ['https://index.docker.io/v1/', 'docker.io/library/app', true],
  ['http://reg.example.com/v2/', 'reg.example.com/app', true],
]
for (const [place, repository, isGood] of cases) {
  test(`what is for ${place} is ${isGood ? '' : 'not '}for ${repository}`, () => {
    const entries = entriesOfDockerConfig(JSON.stringify({ auths: { [place]: { username: 'u', password: 'p' } } }))
    const expected = isGood ? [{ username: 'u', password: 'p', identityToken: '', registryToken: '' }] : []
    assert.deepEqual(
      credentialsFor(repository, entries).map(({ auth }) => auth),
      expected,
    )
  })
}

test('both forms of secrets are read, and a password may have colons', () => {
  const auth = Buffer.from('me:a:b').toString('base64')
  const secret = (type: string, key: string, value: object) => ({
    ...{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 's', namespace: 'n', uid: 'u' }, type },
    data: { [key]: Buffer.from(JSON.stringify(value)).toString('base64') },
  })
  for (const each of [
    secret('kubernetes.io/dockercfg', '.dockercfg', { 'quay.io': { auth } }),
    secret('kubernetes.io/dockerconfigjson', '.dockerconfigjson', { auths: { 'quay.io': { auth } } }),
  ]) {
    assert.deepEqual(entriesOfSecret(each), [
      {
        place: 'quay.io',
        auth: { username: 'me', password: 'a:b', identityToken: '', registryToken: '' },
        source: { uid: 'u', namespace: 'n', name: 's' },
      },
    ])
  }
  assert.deepEqual(entriesOfSecret(secret('Opaque', '.dockercfg', { 'quay.io': { auth } })), [])
})
