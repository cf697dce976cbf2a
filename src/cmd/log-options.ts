import { logLevels } from '#base/log.ts'
import { defineOptions, text } from '#base/options.ts'

/** How a program logs: the same flags for every command that runs on. */
export const logOptions = defineOptions({
  logLevel: text('how much is logged', { placeholder: 'LEVEL', default: 'info', choices: logLevels }),
  logFormat: text('how it is logged; auto: text on a terminal, JSON otherwise', {
    ...{ placeholder: 'FORM', default: 'auto', choices: ['auto', 'text', 'json'] },
  }),
})
