/** The package as users install it: packed, installed into an empty project under a path with spaces, and started by the system's own Node. */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { freePort } from '../support/free-port.ts'

const repository = join(import.meta.dirname, '..', '..')
/** Without this repository's node_modules: the Node that is found is the machine's. */
const path = (process.env['PATH'] ?? '')
  .split(':')
  .filter((each) => !each.includes('node_modules'))
  .join(':')
// Tests that are run inside a test would say nothing of themselves; options for our Node need not be the machine's.
const env = { ...process.env, PATH: path, NODE_TEST_CONTEXT: undefined, NODE_OPTIONS: undefined }
const newerFirst = `${dirname(process.execPath)}:${path}`

function run(command: string, args: string[], cwd: string): string {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, env, encoding: 'utf8', timeout: 300_000 })
  assert.equal(status, 0, `${command} ${args.join(' ')}\n${stdout}\n${stderr}`)
  return stdout
}

test('the packed package installs and starts a cluster that answers /livez', { timeout: 400_000 }, async () => {
  const directory = mkdtempSync(join(tmpdir(), 'a package '))
  try {
    run('npm', ['pack', '--pack-destination', directory], repository)
    writeFileSync(join(directory, 'package.json'), '{"name":"user","private":true}')
    const tarball = spawnSync('sh', ['-c', 'ls *.tgz'], { cwd: directory, encoding: 'utf8' }).stdout.trim()
    holdsNothingElse(run('tar', ['tf', tarball], directory).trim().split('\n'))
    run('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline', `./${tarball}`], directory)
    assert.match(run('npx', ['tn', 'version'], directory), /^typernetes \d+\.\d+\.\d+ \(Kubernetes v1\.36/)
    usesLibrary(directory)
    for (const kind of ['operator', 'apiserver', 'webhook']) passesItsTests(directory, kind)

    const port = await freePort()
    const program = join(directory, 'node_modules', '.bin', 'typernetes')
    const child = spawn(program, ['up', '--data-dir', join(directory, 'data'), '--api-port', String(port), '--runtime', 'none'], {
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const exited = new Promise<number | null>((resolve) => child.on('exit', resolve))
    await new Promise<void>((resolve, reject) => {
      let output = ''
      child.stdout.on('data', (text: Buffer) => {
        output += text
        if (output.includes('The cluster is ready')) resolve()
      })
      void exited.then((code) => reject(new Error(`it ended with ${code} before it was ready`)))
    })
    try {
      assert.equal(await get(`https://127.0.0.1:${port}/livez`), 'ok')
      child.kill('SIGTERM')
      assert.equal(await exited, 0)
    } finally {
      child.kill('SIGKILL')
    }
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
})

/**
 * A user's program imports the package by name, in a project as the guide prints it: it is checked by the types that come along, and run.
 * The package is found one directory up.
 */
function usesLibrary(parent: string): void {
  const directory = join(parent, 'guide')
  mkdirSync(directory)
  const program = readFileSync(join(import.meta.dirname, 'package', 'controller.ts'), 'utf8')
  writeFileSync(join(directory, 'controller.ts'), program)
  const documented = readFileSync(join(repository, 'docs', 'writing-a-controller.md'), 'utf8')
  assert.ok(documented.includes(program.slice(program.indexOf('import {'))), 'docs/writing-a-controller.md shows another program')
  const [, printed = ''] = /```json\n(\{[\s\S]+?\n\})\n```/.exec(documented) ?? []
  assert.equal(
    JSON.parse(printed).dependencies.typernetes,
    `^${JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')).version}`,
  )
  writeFileSync(join(directory, 'package.json'), printed)
  // Every declaration is checked, not only those that the program uses.
  const options = '--ignoreConfig --noEmit --strict --exactOptionalPropertyTypes --module nodenext --target esnext --types node'
  const typeRoots = ['--typeRoots', join(repository, 'node_modules', '@types')]
  run(
    process.execPath,
    [
      join(repository, 'node_modules', 'typescript', 'bin', 'tsc'),
      ...options.split(' '),
      ...typeRoots,
      '--allowImportingTsExtensions',
      'controller.ts',
    ],
    directory,
  )
  const start = spawnSync('npm', ['start', '--silent'], {
    cwd: directory,
    env: { ...env, PATH: newerFirst },
    encoding: 'utf8',
    timeout: 240_000,
  })
  assert.equal(start.stdout, 'Hello, blue\n', start.stderr)
  for (const flags of [
    ['-e', "import('typernetes')"],
    ['-e', "require('typernetes')"],
  ]) {
    const older = spawnSync('node', flags, { cwd: directory, env, encoding: 'utf8', timeout: 300_000 })
    if (Number(run('node', ['-p', "process.versions.node.split('.')[0]"], directory)) >= 26) assert.equal(older.status, 0)
    else assert.match(older.stderr, /^\[?typernetes needs Node\.js 26 or newer, and this is v\d+\.\d+\.\d+; npm install/m)
  }
}

/** A project that `new` writes: its types are right and its tests pass, before anybody touches it. The package is found one directory up. */
function passesItsTests(directory: string, kind: string): void {
  run('npx', ['tn', 'new', kind, `my-${kind}`, '--group', 'demo.example.com'], directory)
  const project = join(directory, `my-${kind}`)
  const tsc = join(repository, 'node_modules', 'typescript', 'bin', 'tsc')
  run(process.execPath, [tsc, '-p', project, '--typeRoots', join(repository, 'node_modules', '@types')], project)
  const { scripts } = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8')) as { scripts: { test: string } }
  const result = run('sh', ['-c', scripts.test.replace(/^node/, `'${process.execPath}'`)], project)
  assert.match(result, /fail 0/)
  assert.match(result, /pass [2-9]/)
}

function get(url: string): Promise<string> {
  return new Promise((resolve, reject) => {
    request(url, { rejectUnauthorized: false }, (response) => {
      let text = ''
      response.on('data', (chunk: Buffer) => {
        text += chunk
      })
      response.on('end', () => resolve(text))
    })
      .on('error', reject)
      .end()
  })
}

/** Programs, modules and their types, docs, man pages, completions, licences: no test, no helper of one, no table of facts, no recording. */
function holdsNothingElse(files: string[]): void {
  const allowed =
    /^package\/(bin\/[\w.-]+\.js|lib\/[\w./-]+\.(js|cjs|d\.ts|json)|docs\/[\w./-]+\.(md|svg|yml)|lib\/LICENSES\.md|man\/[\w.-]+\.1|completions\/[\w.]+|README\.md|LICENSE|package\.json)$/
  assert.deepEqual(
    files.filter((file) => !allowed.test(file) || /(^|\/)testing\/|\.test\.|\.testing\./.test(file)),
    [],
  )
}
