/** The runtime interface over a real containerd, of whatever version is installed. */
import { spawnSync } from 'node:child_process'
import { describe } from 'node:test'
import { startTestContainerd, whyNoContainers } from '../support/containerd.ts'
import { containerRuntimeSuite } from './container-runtime.ts'

const [, major = 1, minor = 6] = (
  / v?(\d+)\.(\d+)\./.exec(spawnSync('containerd', ['--version'], { encoding: 'utf8' }).stdout ?? '') ?? []
).map(Number)
const isBefore = (wantedMajor: number, wantedMinor: number) => major < wantedMajor || (major === wantedMajor && minor < wantedMinor)

describe('containers by containerd', { skip: whyNoContainers(), timeout: 600_000 }, () => {
  containerRuntimeSuite({
    ...{ scheme: 'containerd', start: startTestContainerd },
    ...(isBefore(2, 0) && { health: {} }),
    // From 1.7 on it forgets what has ended while it was away.
    ...(!isBefore(1, 7) && { unseenEnd: { exitCode: 255, reason: 'Unknown' } }),
  })
})
