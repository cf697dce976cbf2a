/** Modules that are kept between starts: never stale, and never in the way. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { copyFileSync, globSync, mkdirSync, mkdtempSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'

const cacheModule = join(import.meta.dirname, '..', '..', 'bin', 'module-cache.js')

test('a program runs from kept modules, sees changes of its files, and does without what cannot be read', () => {
  const root = mkdtempSync(join(tmpdir(), 'tn modules '))
  try {
    for (const directory of ['bin', 'src/room']) mkdirSync(join(root, directory), { recursive: true })
    writeFileSync(join(root, 'package.json'), '{"type":"module","imports":{"#*":"./src/*"}}')
    copyFileSync(cacheModule, join(root, 'bin', 'module-cache.js'))
    const write = (text: string) => writeFileSync(join(root, 'src/room/word.ts'), `export const word: string = '${text}'\n`)
    writeFileSync(
      join(root, 'src/room/main.ts'),
      `import { word } from '#room/word.ts'\nimport { exclaimed } from './exclaimed.ts'\nconsole.log(exclaimed(word))\n`,
    )
    writeFileSync(join(root, 'src/room/exclaimed.ts'), `export const exclaimed = (text: string): string => text + '…'\n`)
    const run = () => {
      const env = { ...process.env, NODE_COMPILE_CACHE: join(root, 'cache', 'compiled') }
      const args = ['--import', join(root, 'bin', 'module-cache.js'), join(root, 'src/room/main.ts')]
      const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', env })
      return `${stdout.trim()}${stderr}`
    }
    const kept = () => globSync(join(root, 'cache', 'modules-*'))[0] ?? ''
    write('one')
    assert.equal(run(), 'one…')
    const { mtimeMs } = statSync(kept())
    assert.equal(run(), 'one…')
    assert.equal(statSync(kept()).mtimeMs, mtimeMs, 'what has not changed is not written again')
    write('another')
    assert.equal(run(), 'another…')
    assert.equal(run(), 'another…')
    truncateSync(kept(), 3)
    assert.equal(run(), 'another…')
    writeFileSync(kept(), 'no modules at all')
    assert.equal(run(), 'another…')
    rmSync(join(root, 'cache'), { recursive: true })
    writeFileSync(join(root, 'cache'), 'a file where the directory should be')
    assert.equal(run(), 'another…')
  } finally {
    rmSync(root, { recursive: true })
  }
})
