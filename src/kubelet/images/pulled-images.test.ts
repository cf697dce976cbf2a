import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { nodeFiles } from '#base/files.ts'
import { PulledImages } from '#kubelet/images/pulled-images.ts'
import type { RegistryEntry } from '#kubelet/images/registry-credentials.ts'

const secret = (name: string, password: string): RegistryEntry => ({
  ...{ place: 'reg.io', auth: { username: 'u', password } },
  source: { uid: `uid-${name}`, namespace: 'n', name },
})

async function withImages(run: (reopen: () => PulledImages) => Promise<void>): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'pulled-'))
  try {
    await run(() => new PulledImages(nodeFiles, directory))
  } finally {
    rmSync(directory, { recursive: true })
  }
}

const having =
  (...entries: RegistryEntry[]) =>
  async () =>
    entries
const pull = async (images: PulledImages, image: string, credentials?: RegistryEntry) => {
  await images.begin(image)
  await images.end(image, { imageRef: 'sha256:1', credentials })
}

test('an image that nobody pulled here is everybody’s', () =>
  withImages(async (reopen) => assert.equal(await reopen().mayUse('reg.io/app:1', 'sha256:1', having()), true)))

test('an image that was given to anybody is everybody’s, under the name it was given by', () =>
  withImages(async (reopen) => {
    await pull(reopen(), 'reg.io/app:1')
    assert.equal(await reopen().mayUse('reg.io/app:2', 'sha256:1', having()), true)
    assert.equal(await reopen().mayUse('other.io/app:1', 'sha256:1', having()), false)
  }))

test('an image that took credentials is for those who have them, by secret or by content, after a restart too', () =>
  withImages(async (reopen) => {
    await pull(reopen(), 'reg.io/app:1', secret('a', 'good'))
    const images = reopen()
    assert.equal(await images.mayUse('reg.io/app:1', 'sha256:1', having()), false)
    assert.equal(await images.mayUse('reg.io/app:1', 'sha256:1', having(secret('b', 'bad'))), false)
    assert.equal(await images.mayUse('reg.io/app:1', 'sha256:1', having(secret('b', 'good'))), true)
    assert.equal(await images.mayUse('reg.io/app:1', 'sha256:1', having(secret('a', 'changed'))), true)
    assert.equal(await images.mayUse('reg.io/app:1', 'sha256:1', having(secret('c', 'changed'))), true, 'remembered with its new content')
    await pull(images, 'reg.io/app:1')
    assert.equal(await images.mayUse('reg.io/app:1', 'sha256:1', having()), true, 'then it was given to anybody')
  }))

test('an image that a program’s credentials were good for is for pods of the same service account', () =>
  withImages(async (reopen) => {
    const of = (name: string): RegistryEntry => ({
      ...{ place: 'reg.io', auth: { username: 'u', password: 'p' } },
      account: { uid: `uid-${name}`, namespace: 'n', name },
    })
    await pull(reopen(), 'reg.io/app:1', of('a'))
    assert.equal(await reopen().mayUse('reg.io/app:1', 'sha256:1', having()), false)
    assert.equal(await reopen().mayUse('reg.io/app:1', 'sha256:1', having(of('b'))), false)
    assert.equal(await reopen().mayUse('reg.io/app:1', 'sha256:1', having(of('a'))), true)
  }))

test('a pull that has not ended, or was cut off by a crash, gives the image to nobody', () =>
  withImages(async (reopen) => {
    const images = reopen()
    await images.begin('reg.io/app:1')
    await images.begin('reg.io/app:1')
    assert.equal(await images.mayUse('reg.io/app:1', 'sha256:1', having()), false)
    await images.end('reg.io/app:1', undefined)
    assert.equal(await reopen().mayUse('reg.io/app:1', 'sha256:1', having()), false)
    await images.end('reg.io/app:1', undefined)
    assert.equal(await reopen().mayUse('reg.io/app:1', 'sha256:1', having()), true)
  }))
