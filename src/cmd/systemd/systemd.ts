import { join, resolve } from 'node:path'
import { nodeFiles } from '#base/files.ts'
import { thisProcess } from '#base/machine.ts'
import { program } from '#cmd/link/link.ts'
import { unitText } from '#cmd/systemd/unit-text.ts'

export async function systemd(line: readonly string[], { name, write }: { name: string; write: string }): Promise<void> {
  const unit = unitText(program, line)
  if (write === '') {
    thisProcess.print(unit.trimEnd())
    return
  }
  const file = `${name || `typernetes-${line[0]}`}.service`
  const path = resolve(join(write, file))
  await nodeFiles.write(path, unit, { mode: 0o644 })
  thisProcess.print(`${path} is written. Next: systemctl daemon-reload && systemctl enable --now ${file}`)
}
