/**
 * Images for tests with real containers, made from Debian's busybox-static: nothing is fetched. Of its programs `wget` ends with a
 * segmentation fault (139) whenever it is given `-T`, on any machine and for any address: use it without, or `nc -w`.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { type ImageContent, writeImageArchive } from '#wire/oci/image-archive.ts'
import type { TarEntry } from '#wire/tar.ts'

export const busyboxPath = '/bin/busybox'

/** Runs as root, with a shell and the usual programs: sh, sleep, httpd, nc, cat, tar, wget, … */
export const testImage = 'typernetes.test/busybox:1'
/** The same, made for user 1000. */
export const userImage = 'typernetes.test/user:1'
/** The same, made for a user without a number. */
export const namedUserImage = 'typernetes.test/named-user:1'

const architecture = process.arch === 'x64' ? 'amd64' : process.arch

export function testImageArchive(): Uint8Array {
  const layers = [busyboxLayer()]
  const image = (name: string, config: ImageContent['config']): ImageContent => ({ name, architecture, layers, config })
  const usual = { Env: ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'], Cmd: ['sh'] }
  return writeImageArchive([
    image(testImage, usual),
    image(userImage, { ...usual, User: '1000' }),
    image(namedUserImage, { ...usual, User: 'tester' }),
  ])
}

function busyboxLayer(): TarEntry[] {
  const applets = spawnSync(busyboxPath, ['--list'], { encoding: 'utf8' }).stdout.split('\n').filter(Boolean)
  const directories = ['bin/', 'etc/', 'proc/', 'sys/', 'dev/', 'root/', 'home/', 'usr/', 'usr/bin/', 'var/', 'var/run/']
  return [
    ...directories.map((path): TarEntry => ({ path, kind: 'directory' })),
    { path: 'tmp/', kind: 'directory', mode: 0o1777 },
    { path: 'bin/busybox', content: readFileSync(busyboxPath), mode: 0o755 },
    ...applets.filter((name) => name !== 'busybox').map((name): TarEntry => ({ path: `bin/${name}`, kind: 'symlink', target: 'busybox' })),
    { path: 'usr/bin/env', kind: 'symlink', target: '/bin/busybox' },
    { path: 'etc/passwd', content: Buffer.from('root:x:0:0:root:/root:/bin/sh\ntester:x:1000:1000:tester:/home:/bin/sh\n') },
    { path: 'etc/group', content: Buffer.from('root:x:0:\ntester:x:1000:\nextra:x:2000:tester\n') },
  ]
}
