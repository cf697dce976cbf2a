/** Generates every generated file from facts/, or with `--check` fails where one is out of date: `node scripts/generate.ts [--check]`. */
import { spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'
import { join } from 'node:path'

const failed = globSync(join(import.meta.dirname, 'generate-*.ts'))
  .sort()
  .filter((path) => spawnSync(process.execPath, [path, ...process.argv.slice(2)], { stdio: 'inherit' }).status !== 0)
if (failed.length > 0) {
  console.error('generated files are not what facts/ and the generators give: run `node scripts/generate.ts` and commit the result')
  process.exitCode = 1
}
