/** `typernetes systemd`: a unit that runs one of the commands as a service of the machine. */
import { addOptions, type Command, defineOptions, optionValues, text } from '#base/options.ts'

const options = defineOptions({
  name: text('what the unit is called', { placeholder: 'NAME', default: '', defaultText: 'typernetes-COMMAND' }),
  write: text('write the unit into this directory instead of printing it (/etc/systemd/system)', { placeholder: 'DIR', default: '' }),
})

export function systemdCommand(command: Command): void {
  command.argument('<line...>', 'the command and its flags, after --: typernetes systemd -- up --listen 0.0.0.0')
  addOptions(command, options)
  command.action(async (line: string[]) => {
    const { systemd } = await import('#cmd/systemd/systemd.ts')
    await systemd(line, optionValues(command, options))
  })
}
