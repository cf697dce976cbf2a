import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TreeWriter } from '#base/tree-writer.ts'
import { LayerTree } from '#runtime/images/layer-tree.ts'
import type { TarHeader } from '#wire/tar-reader.ts'

/** What is asked of the disk, in order. */
function unpacked(...entries: (Partial<TarHeader> & { path: string })[]): string[] {
  const done: string[] = []
  const note =
    (verb: string) =>
    (...words: unknown[]) =>
      void done.push([verb, ...words.filter((word) => typeof word === 'string')].join(' '))
  const writer = {
    ...{ makeDirectory: note('mkdir'), openFile: note('file'), symlink: note('symlink'), link: note('link'), makeNode: note('node') },
    ...{ setAttribute: note('attribute'), remove: note('remove'), write() {}, closeFile() {}, setOwner() {} },
  } as unknown as TreeWriter
  const tree = new LayerTree(writer, { hasUserAttributes: false })
  for (const entry of entries) {
    tree.onEntry({
      ...{ kind: 'file', target: '', mode: 0o644, uid: 0, gid: 0, sizeBytes: 0, modifiedSeconds: 0 },
      ...{ device: { major: 0, minor: 0 }, attributes: new Map() },
      ...entry,
    })
    tree.onEntryEnd()
  }
  return done
}

test('paths that would leave the tree stay in it', () => {
  assert.deepEqual(unpacked({ path: '../../etc/passwd' }), ['mkdir etc', 'file etc/passwd'])
  assert.deepEqual(unpacked({ path: '/etc/passwd' }), ['mkdir etc', 'file etc/passwd'])
})

test('links on the way are followed within the tree, wherever they point', () => {
  assert.deepEqual(unpacked({ path: 'a', kind: 'symlink', target: '/etc' }, { path: 'a/passwd' }), [
    'symlink a /etc',
    'mkdir etc',
    'file etc/passwd',
  ])
  assert.deepEqual(unpacked({ path: 'd/a', kind: 'symlink', target: '../../../../..' }, { path: 'd/a/x' }), [
    'mkdir d',
    'symlink d/a ../../../../..',
    'file x',
  ])
})

test('links in a circle are an error, not a wait', () => {
  const entries = [{ path: 'a', kind: 'symlink', target: 'b' }, { path: 'b', kind: 'symlink', target: 'a' }, { path: 'a/x' }] as const
  assert.throws(() => unpacked(...entries), /too many links/)
})

test('a link at the end of a path is replaced, and never written through', () => {
  assert.deepEqual(unpacked({ path: 'a', kind: 'symlink', target: '/etc/passwd' }, { path: 'a' }), [
    'symlink a /etc/passwd',
    'remove a',
    'file a',
  ])
})

test('hard links lead to what the layer has itself, found the same way', () => {
  const entries = [
    { path: 'etc/shadow' },
    { path: 'a', kind: 'symlink', target: '/etc' },
    { path: 'h', kind: 'link', target: '../a/shadow' },
  ] as const
  assert.deepEqual(unpacked(...entries), ['mkdir etc', 'file etc/shadow', 'symlink a /etc', 'link h etc/shadow'])
  assert.throws(() => unpacked({ path: 'h', kind: 'link', target: '/etc/shadow' }), /which it does not have/)
})

test('what is hidden becomes a mark for the overlay, and a directory that hides all below it gets an attribute', () => {
  assert.deepEqual(unpacked({ path: 'etc/.wh.gone' }, { path: 'var/.wh..wh..opq' }), [
    ...['mkdir etc', 'node etc/gone character', 'mkdir var', 'attribute var trusted.overlay.opaque'],
  ])
  assert.throws(() => unpacked({ path: '.wh...' }), /no name/)
})

test('attributes of overlays in an archive are not taken', () => {
  const attributes = new Map([
    ['trusted.overlay.redirect', Buffer.from('/etc')],
    ['user.note', Buffer.from('x')],
  ])
  assert.deepEqual(unpacked({ path: 'a', attributes }), ['file a', 'attribute a user.note'])
})
