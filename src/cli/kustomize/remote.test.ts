import assert from 'node:assert/strict'
import test from 'node:test'
import { repositoryPlace } from './remote.ts'

test('addresses of Git repositories are told from paths, and taken apart', () => {
  const place = (text: string) => {
    const found = repositoryPlace(text)
    return found === undefined ? undefined : [found.clone, found.path, found.ref]
  }
  assert.deepEqual(place('github.com/org/repo//some/path?ref=v1'), ['https://github.com/org/repo', 'some/path', 'v1'])
  assert.deepEqual(place('https://github.com/org/repo/deep/base?ref=main'), ['https://github.com/org/repo', 'deep/base', 'main'])
  assert.deepEqual(place('https://host.example/x/y/z.git/base'), ['https://host.example/x/y/z.git', 'base', ''])
  assert.deepEqual(place('git@github.com:org/repo//base'), ['git@github.com:org/repo', 'base', ''])
  assert.deepEqual(place('ssh://git@host/org/repo.git?ref=a'), ['ssh://git@host/org/repo.git', '', 'a'])
  assert.deepEqual(place('file:///srv/repo//base'), ['file:///srv/repo', 'base', ''])
  assert.equal(place('../base'), undefined)
  assert.equal(place('some/directory'), undefined)
})
