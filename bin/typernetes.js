#!/usr/bin/env node
// Hands over to the Node.js that Typernetes wants: this one if it is new enough, else one that is found or fetched.
import { spawn } from 'node:child_process'
import { existsSync, realpathSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const wanted = 26
const here = dirname(realpathSync(fileURLToPath(import.meta.url)))
const root = dirname(here)
// A published package holds the sources with their types stripped: Node does not strip types below node_modules.
const packed = join(root, 'lib', 'cmd', 'main.js')
const main = existsSync(join(root, 'src', 'cmd', 'main.ts')) ? join(root, 'src', 'cmd', 'main.ts') : packed

// `typernetes link` installs links under these names.
const [, called] =
  /^(?:kube-)?(apiserver|(?:cloud-)?controller-manager|scheduler|kubelet|proxy)$/.exec(basename(process.argv[1] ?? '')) ?? []
if (called !== undefined) process.argv.splice(2, 0, called)

const fail = (line) => {
  process.stderr.write(`typernetes: ${line}\n`)
  process.exit(1)
}

// Compiled code is kept between starts: it halves the time to listening.
const cacheHome =
  process.env.XDG_CACHE_HOME ?? (process.platform === 'win32' ? (process.env.LOCALAPPDATA ?? tmpdir()) : join(homedir(), '.cache'))
process.env.NODE_COMPILE_CACHE ??= join(cacheHome, 'typernetes', 'compiled')
// Threads of the program load their modules the same way.
process.env.TYPERNETES_PRELOAD = pathToFileURL(join(here, 'module-cache.js')).href

if (!existsSync(main)) fail(`${root} is incomplete: neither src/ nor lib/ holds the program; install the package again`)
if (!existsSync(join(root, 'node_modules', 'commander')) && main !== packed)
  fail(`its dependencies are not installed; run: cd '${root}' && npm install`)

async function runtimeOrEnd() {
  const { findRuntime } = await import('./find-runtime.js')
  try {
    return findRuntime({ wanted, cache: join(cacheHome, 'typernetes') })
  } catch (error) {
    return fail(error.message)
  }
}

const major = Number(process.versions.node.split('.')[0])
if (major >= wanted) {
  const { enableCompileCache } = await import('node:module')
  enableCompileCache(process.env.NODE_COMPILE_CACHE)
  await import(process.env.TYPERNETES_PRELOAD)
  await import(pathToFileURL(main).href)
} else {
  const runtime = await runtimeOrEnd()
  const child = spawn(runtime, ['--import', process.env.TYPERNETES_PRELOAD, main, ...process.argv.slice(2)], {
    stdio: 'inherit',
    // Threads that take memory in turn do not need a store of it each.
    env: { MALLOC_ARENA_MAX: '2', ...process.env },
  })
  child.on('error', (error) => fail(`${runtime} could not be started: ${error.message}`))
  // The terminal sends SIGINT to both; other signals reach only this process.
  process.on('SIGINT', () => {})
  for (const signal of ['SIGTERM', 'SIGHUP', 'SIGUSR2']) process.on(signal, () => child.kill(signal))
  child.on('exit', (code, signal) => {
    if (signal) {
      process.removeAllListeners(signal)
      process.kill(process.pid, signal)
    } else process.exit(code ?? 1)
  })
}
