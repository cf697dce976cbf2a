/** Generated files: written where they are out of date, or only named with `--check`, which fails then. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const repository = join(import.meta.dirname, '..')

/** Where the tables are that files are generated from. */
export const factsDirectory = join(repository, 'facts')

/** Texts by path in the repository. */
export function writeOrCheck(files: ReadonlyMap<string, string>, isCheck = process.argv.includes('--check')): void {
  for (const [path, text] of files) {
    const target = join(repository, path)
    if (existsSync(target) && readFileSync(target, 'utf8') === text) continue
    if (isCheck) process.exitCode = 1
    else {
      mkdirSync(dirname(target), { recursive: true })
      writeFileSync(target, text)
    }
    console.log(`${isCheck ? 'out of date' : 'wrote'}: ${path}`)
  }
}
