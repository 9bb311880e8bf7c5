/** What a client is told about using the tools together; many pass it on to the model. */
export const instructions = `Planledger keeps the plan of a task: one Markdown document that outlives your context. Write down what must not be forgotten, and read it when you start or have been reset.

To add a section, append it (update_task_plan_kandev with mode append): you send only the section and need no read first. To change a part, such as ticking a checklist item, use edit_task_plan_kandev. Replace the whole document only when the whole document is what changes.

A refused write changes nothing. Correct the call as the refusal says and continue in the same turn. Do not rebuild a plan from memory: read it. Do not set allow_truncation merely to clear an error.

On a conflict read the plan again and reconcile your change with its present text; never resend the old body with the new version. Where the intent is unclear, or a person's change would be overwritten, ask the person. Repair an overwrite of your own only with an identified source revision and no edit in between.

After a lost response read the plan first. If the change is not there, repeat the same call with the same request_id. Without one never repeat an append unseen, and never resend an old body with a refreshed version.`;
