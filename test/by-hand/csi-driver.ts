/**
 * The tests' CSI driver beside a running cluster, on each of its nodes: `node test/by-hand/csi-driver.ts DATA-DIR [NODE…]`, as root. Its disks
 * are files on loop devices that every node reaches. Upstream's suites for drivers run over it:
 *
 *   e2e.test --storage.testdriver=test/by-hand/csi-driver.yaml --ginkgo.focus='External.Storage'
 */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { TestDriver } from '../support/csi-driver/csi-driver.ts'

const [dataDir = '', ...named] = process.argv.slice(2)
const nodes =
  named.length > 0
    ? named
    : readdirSync(join(dataDir, 'nodes'), { withFileTypes: true }).flatMap((each) => (each.isDirectory() ? [each.name] : []))
const directory = mkdtempSync(join(tmpdir(), 'tn-csi-'))
mkdirSync(join(directory, 'disks'))

const drivers: TestDriver[] = []
for (const node of nodes) {
  const own = join(directory, node)
  mkdirSync(own)
  symlinkSync(join(directory, 'disks'), join(own, 'disks'))
  const registry = join(dataDir, 'nodes', node, 'kubelet', 'plugins_registry')
  const driver = await TestDriver.start({ name: 'disks.test', nodeId: node, directory: own, registry, usesLoop: true })
  drivers.push(driver)
  const { pluginRegistered, error } = await driver.registered
  console.log(pluginRegistered ? `disks.test is registered on ${node}` : `${node} refuses disks.test: ${error}`)
}

await new Promise((resolve) => {
  process.once('SIGINT', resolve)
  process.once('SIGTERM', resolve)
})
for (const driver of drivers) await driver[Symbol.asyncDispose]()
rmSync(directory, { recursive: true, force: true })
